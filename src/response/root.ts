/**
 * The description of the API at its root.
 *
 * @module
 */
import type { HeaderList } from "../lib/header_list.ts";
import type { OpenApiVersion, RootPlan } from "../plan/root_plan.ts";
import type { SchemaMetadata } from "../query/schema_metadata.ts";
import type { ApiRequest } from "../request/api_request.ts";
import type { SchemaCache } from "../schema_cache/schema_cache.ts";
import { configKey, type DocumentConfig } from "./openapi/about.ts";
import { type DocumentStore, documentStore } from "./openapi/document_store.ts";
import { buildModel } from "./openapi/model.ts";
import { openApi2 } from "./openapi/v2.ts";
import { openApi3 } from "./openapi/v3.ts";
import type { Reply } from "./reply.ts";

/** What the description is made of. */
export interface RootFacts {
  /** JSON of {@linkcode SchemaMetadata}; null when it was not asked for, or the schema is gone. */
  readonly facts: string | null;
  readonly cache: SchemaCache;
  readonly config: DocumentConfig;
}

/** Answers `/` with a document, which is made once for what a role may use. */
export function respondToRoot(
  { schemaNegotiated }: ApiRequest,
  plan: RootPlan,
  facts: RootFacts,
): Reply {
  const content = plan.headersOnly ? null : documentOf(plan, facts);
  const headers: HeaderList = [
    ["Content-Type", contentTypes[plan.version]],
    ...(schemaNegotiated ? [["Content-Profile", plan.schema] as const] : []),
    ["Vary", "Accept, Prefer, Range"],
    ...(content === null ? [] : [["Content-Length", String(content.length)] as const]),
  ];
  return { status: 200, headers, content, length: content?.length ?? null };
}

const contentTypes: Readonly<Record<OpenApiVersion, string>> = {
  "2.0": "application/openapi+json; charset=utf-8",
  "3.1": "application/openapi+json; version=3.1; charset=utf-8",
};

const writers = { "2.0": openApi2, "3.1": openApi3 } as const;

function documentOf({ schema, version }: RootPlan, { facts, cache, config }: RootFacts) {
  const store: DocumentStore = cache.derived(documentStore);
  // Nothing but the facts is of any length, and no text of JSON holds NUL.
  const key = [version, configKey(config), JSON.stringify(schema), facts ?? ""].join("\0");
  return store.get(key, () => {
    const parsed: SchemaMetadata = facts === null ? { comment: null } : JSON.parse(facts);
    const document = writers[version](buildModel(schema, parsed, cache), config);
    return new TextEncoder().encode(JSON.stringify(document));
  });
}
