/** The resources: the guide, the OpenAPI document of the role, and descriptions of relations.
 * @module */
import { descriptionOf } from "./catalog_tools.ts";
import { guide } from "./guide.ts";
import { InvalidParams } from "./invalid_params.ts";
import { roleView } from "./privileges.ts";
import type { MessageFacts, Session } from "./session.ts";
import { errorOf, maxResultBytes, readText, tooLongText } from "./tool_result.ts";

const guideUri = "svc://guide";
const openapiUri = "svc://openapi";
const openapiType = "application/openapi+json";

/** Resources that clients can list. */
export const resources = [
  { uri: guideUri, name: "guide", title: "Grammar of calls", mimeType: "text/markdown" },
  { uri: openapiUri, name: "openapi", title: "OpenAPI 3.1 document", mimeType: openapiType },
] as const;

/** Templates of further resources. */
export const resourceTemplates = [{
  uriTemplate: "svc://relation/{schema}/{name}",
  name: "relation",
  title: "Description of a table, view or function",
  mimeType: "application/json",
}] as const;

/** The content of a resource. */
export interface ResourceContent {
  readonly uri: string;
  readonly mimeType: string;
  readonly text: string;
}

/** Reads a resource. Throws `InvalidParams` for an unknown one, `ApiFailure` if the API fails. */
export async function readResource(
  uri: string,
  session: Session,
  facts: MessageFacts,
): Promise<ResourceContent> {
  if (uri === guideUri) return { uri, mimeType: "text/markdown", text: guide };
  if (uri === openapiUri) return await readOpenapi(uri, session, facts);
  const names = /^svc:\/\/relation\/([^/]+)\/([^/]+)$/.exec(uri)?.slice(1).map(decoded);
  const [schema, name] = names ?? [];
  if (schema === undefined || name === undefined) throw new InvalidParams("Unknown resource");
  const view = await roleView(session.schemaOf(schema), session, facts);
  const description = descriptionOf(name, view, session.cache!);
  if (description === null) throw new InvalidParams("Unknown resource");
  return { uri, mimeType: "application/json", text: JSON.stringify(description) };
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A document is longer than results, but clients read it once. */
const openapiFactor = 16;

async function readOpenapi(
  uri: string,
  session: Session,
  facts: MessageFacts,
): Promise<ResourceContent> {
  const { config } = session;
  const maxBytes = openapiFactor * maxResultBytes;
  const reply = await session.call({
    method: "GET",
    path: "/",
    query: "",
    schema: config.dbSchemas[0]!,
    accept: `${openapiType};version=3.1`,
  }, facts);
  if (reply.status >= 400) {
    throw new InvalidParams((await errorOf(reply, maxBytes)).content[0]!.text);
  }
  const body = await readText(reply, maxBytes);
  if (body.kind === "too long") throw new InvalidParams(tooLongText(body.bytes, maxBytes));
  return { uri, mimeType: openapiType, text: body.text };
}
