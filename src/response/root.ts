/**
 * Responds to the root with an OpenAPI document.
 *
 * @module
 */
import type { HeaderList } from "../lib/header_list.ts";
import type { OpenApiVersion, RootPlan } from "../plan/root_plan.ts";
import type { SchemaMetadata } from "../query/schema_metadata.ts";
import type { ApiRequest } from "../request/api_request.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";
import { conditionalReply, contentTag } from "./conditional.ts";
import { configKey, type DocumentConfig, hasTags } from "./openapi/about.ts";
import { type DocumentStore, documentStore } from "./openapi/document_store.ts";
import { buildModel } from "./openapi/model.ts";
import { openApi2 } from "./openapi/v2.ts";
import { openApi3 } from "./openapi/v3.ts";
import type { Reply } from "./reply.ts";

/** Data that the document is made of. */
export interface DocumentSource {
  /** JSON of {@linkcode SchemaMetadata}; null if it was not queried or the schema does not exist. */
  readonly metadata: string | null;
  readonly cache: SchemaCache;
  readonly config: DocumentConfig;
}

/** Makes the reply to `/`. Roles with the same privileges share one cached document. */
export async function respondToRoot(
  { schemaNegotiated, preconditions }: ApiRequest,
  plan: RootPlan,
  source: DocumentSource,
): Promise<Reply> {
  const content = plan.headersOnly ? null : documentOf(plan, source);
  const isTagged = content !== null && hasTags(source.config);
  const headers: HeaderList = [
    ["Content-Type", contentTypes[plan.version]],
    ...(schemaNegotiated ? [["Content-Profile", plan.schema] as const] : []),
    ...(isTagged ? [["ETag", `"${await tagOf(content, source)}"`] as const] : []),
    ["Vary", "Accept, Prefer, Range"],
    ...(content === null ? [] : [["Content-Length", String(content.length)] as const]),
  ];
  const reply = { status: 200, headers, content, length: content?.length ?? null };
  return conditionalReply(reply, preconditions, true);
}

/** Returns the tag of a document, which is made once. */
function tagOf(content: Uint8Array, { cache }: DocumentSource): Promise<string> {
  const tags = cache.derived(documentTags);
  const tag = tags.get(content) ?? contentTag(content);
  tags.set(content, tag);
  return tag;
}

function documentTags(): WeakMap<Uint8Array, Promise<string>> {
  return new WeakMap();
}

const contentTypes: Readonly<Record<OpenApiVersion, string>> = {
  "2.0": "application/openapi+json; charset=utf-8",
  "3.1": "application/openapi+json; version=3.1; charset=utf-8",
};

const writers = { "2.0": openApi2, "3.1": openApi3 } as const;

function documentOf({ schema, version }: RootPlan, { metadata, cache, config }: DocumentSource) {
  const store: DocumentStore = cache.derived(documentStore);
  // JSON texts contain no NUL, so different inputs have different keys.
  const key = [version, configKey(config), JSON.stringify(schema), metadata ?? ""].join("\0");
  return store.get(key, () => {
    const parsed: SchemaMetadata = metadata === null ? { comment: null } : JSON.parse(metadata);
    const document = writers[version](buildModel(schema, parsed, cache), config);
    return new TextEncoder().encode(JSON.stringify(document));
  });
}
