/** Responds to the root with an OpenAPI document. @module */
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { OpenApiVersion, RootPlan } from "../plan/root_plan.ts";
import type { SchemaMetadata } from "../query/schema_metadata.ts";
import type { ApiRequest } from "../request/api_request.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import { conditionalReply } from "./conditional.ts";
import { configKey, type DocumentConfig, hasTags } from "./openapi/about.ts";
import {
  type DocumentStore,
  documentStore,
  type StoredDocument,
  writeDocument,
} from "./openapi/document_store.ts";
import { buildModel } from "./openapi/model.ts";
import { openApi2 } from "./openapi/v2.ts";
import { openApi3 } from "./openapi/v3.ts";
import type { DescribedOperation } from "./openapi/described_operation.ts";
import type { Reply } from "./reply.ts";
import { standardVary } from "../../base/http/vary.ts";

export interface DocumentSource {
  /** JSON of {@linkcode SchemaMetadata}; null if it was not queried or the schema does not exist. */
  readonly metadata: string | null;
  readonly cache: SchemaCache;
  readonly config: DocumentConfig;
  /** The requests that the role may send. Default: null, for all requests. */
  readonly permitted?: readonly DescribedOperation[] | null;
}

/** Returns the reply to `/`. Roles with the same privileges share a cached document. */
export async function respondToRoot(
  { schemaNegotiated, preconditions }: ApiRequest,
  plan: RootPlan,
  source: DocumentSource,
): Promise<Reply> {
  const document = plan.headersOnly ? null : await documentOf(plan, source);
  const isTagged = document !== null && hasTags(source.config);
  const headers: HeaderList = [
    ["Content-Type", contentTypes[plan.version]],
    ...(schemaNegotiated ? [["Content-Profile", plan.schema] as const] : []),
    ...(isTagged ? [["ETag", `"${document.tag}"`] as const] : []),
    standardVary,
    ...(document === null ? [] : [["Content-Length", String(document.length)] as const]),
  ];
  const head = { status: 200, headers, content: null, length: document?.length ?? null };
  const reply = conditionalReply(head, preconditions, true);
  return document === null || reply !== head ? reply : { ...reply, ...document.open() };
}

const contentTypes: Readonly<Record<OpenApiVersion, string>> = {
  "2.0": "application/openapi+json; charset=utf-8",
  "3.1": "application/openapi+json; version=3.1; charset=utf-8",
};

const writers = { "2.0": openApi2, "3.1": openApi3 } as const;

function documentOf(
  { schema, version }: RootPlan,
  { metadata, cache, config, permitted = null }: DocumentSource,
): Promise<StoredDocument> {
  const store: DocumentStore = cache.derived(documentStore);
  // JSON texts contain no NUL, so different inputs have different keys.
  const names = permitted === null ? "" : JSON.stringify(permitted.map(({ name }) => name));
  const key = [version, configKey(config), JSON.stringify(schema), names, metadata ?? ""].join(
    "\0",
  );
  return store.get(key, () =>
    writeDocument(() => {
      const parsed: SchemaMetadata = metadata === null ? { comment: null } : JSON.parse(metadata);
      const model = buildModel({ schema, metadata: parsed, cache });
      return permitted === null
        ? writers[version](model, config)
        : writers[version]({ ...model, relations: [], routines: [] }, config, permitted);
    }));
}

/** Returns the metadata for requests of a schema with fallbacks, as JSON. Each name has the
 * description of the schema that provides it. `text` is the JSON of the metadata by schema. */
export function servedMetadata(text: string, schema: string, cache: SchemaCache): string {
  const bySchema: Readonly<Record<string, SchemaMetadata>> = JSON.parse(text);
  const parts = Object.entries(bySchema);
  const served = <Item>(
    list: (metadata: SchemaMetadata) => readonly Item[] | undefined,
    schemaOf: (item: Item) => string | undefined,
  ) =>
    parts.some(([, metadata]) => list(metadata) === undefined)
      ? undefined
      : parts.flatMap(([each, metadata]) =>
        list(metadata)!.filter((item) => schemaOf(item) === each)
      );
  const ofRelation = (name: string) => cache.relation({ schema, name })?.schema;
  const ofRoutine = (name: string) => cache.routines({ schema, name })[0]?.schema;
  return JSON.stringify({
    comment: bySchema[schema]?.comment ?? null,
    relations: served(({ relations }) => relations, ofRelation),
    privileges: served(({ privileges }) => privileges, ([name]) => ofRelation(name)),
    functions: served(({ functions }) => functions, ofRoutine),
    overloads: served(({ overloads }) => overloads, ([name]) => ofRoutine(name)),
    visibleTypes: parts.flatMap(([, { visibleTypes = [] }]) => visibleTypes),
  });
}
