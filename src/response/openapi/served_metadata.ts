/** Combines the metadata of a schema and its fallbacks. @module */
import type { SchemaMetadata } from "../../query/schema_metadata.ts";
import type { SchemaCache } from "../../schema_cache/schema_cache.ts";

/**
 * Returns the metadata that requests of a schema with fallbacks meet, as JSON: each name has that of
 * the schema that serves it. `text` is the JSON of the metadata by schema.
 */
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
