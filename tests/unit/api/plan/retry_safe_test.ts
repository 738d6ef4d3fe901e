import { strictEqual } from "node:assert/strict";
import type { BodyFormat } from "../../../../src/api/plan/negotiate.ts";
import { isRetrySafeRead } from "../../../../src/api/plan/retry_safe.ts";
import type { QueryParams } from "../../../../src/api/request/url/query_types.ts";
import { indexSchemaCache } from "../../../../src/state/schema_cache/lookups.ts";
import type { Relation, SchemaCache } from "../../../../src/state/schema_cache/schema_cache.ts";
import {
  api,
  at,
  cache,
  column,
  count,
  embed,
  filter,
  planOf,
} from "../../../support/handler/reading.ts";

const array: BodyFormat = { kind: "array", stripped: false };

/** The schema cache with these volatile functions (null: anything can be) and relations. */
function cacheWith(functions: readonly string[] | null, relations: readonly string[]): SchemaCache {
  const { data } = cache;
  return indexSchemaCache({
    ...data,
    relations: data.relations.map((relation): Relation => ({
      ...relation,
      volatile: relations.includes(relation.name),
    })),
    volatileFunctions: functions,
  });
}

interface Case {
  readonly query: Partial<QueryParams>;
  readonly functions?: readonly string[] | null;
  readonly relations?: readonly string[];
  readonly format?: BodyFormat;
}

const fullText = {
  filters: [
    at("", filter("name", { kind: "fullText", operator: "wfts", language: null, value: "x" })),
  ],
};
const withMakers = { select: [column("id"), embed("makers", [column("name")])] };
const withSheds = { select: [column("id"), embed("sheds", [column("title")])] };
const byCountOfMakers: Partial<QueryParams> = {
  select: [embed("makers", [])],
  order: [at("", [{
    relation: null,
    field: { name: "makers", path: [] },
    operand: {
      kind: "related",
      embed: "makers",
      operand: { kind: "value", value: { field: null, steps: [] } },
    },
    direction: null,
    nulls: null,
  }])],
};
const own = { kind: "aggregate", function: api("own"), over: null, binary: false } as const;

const rows: readonly (readonly [name: string, reads: Case, retrySafe: boolean])[] = [
  ["all columns", { query: {} }, true],
  ["a volatile relation", { query: {}, relations: ["tools"] }, false],
  ["another volatile relation", { query: {}, relations: ["makers"] }, true],
  ["a volatile embed", { query: withMakers, relations: ["makers"] }, false],
  ["a volatile junction", { query: withSheds, relations: ["tool_sheds"] }, false],
  ["volatile surroundings", { query: {}, functions: null }, false],
  ["a column named like a function", { query: {}, functions: ["name"] }, true],
  ["a function of the row", { query: { select: [column("shout")] } }, true],
  ["a volatile one", { query: { select: [column("shout")] }, functions: ["shout"] }, false],
  ["count", { query: { select: [count] } }, true],
  ["a user-defined count", { query: { select: [count] }, functions: ["count"] }, false],
  ["an order by a count", { query: byCountOfMakers }, true],
  ["one by a user-defined count", { query: byCountOfMakers, functions: ["count"] }, false],
  ["full text search", { query: fullText }, true],
  ["a user-defined document", { query: fullText, functions: ["to_tsvector"] }, false],
  ["a user-defined query", { query: fullText, functions: ["websearch_to_tsquery"] }, false],
  ["another user-defined query", { query: fullText, functions: ["to_tsquery"] }, true],
  ["GeoJSON", { query: {}, format: { kind: "geojson" } }, true],
  ["volatile GeoJSON", {
    query: {},
    format: { kind: "geojson" },
    functions: ["st_asgeojson"],
  }, false],
  ["an aggregate as format", { query: {}, format: own }, true],
  ["a volatile aggregate as format", { query: {}, format: own, functions: ["own"] }, false],
];

for (const [name, { query, functions = [], relations = [], format = array }, retrySafe] of rows) {
  Deno.test(`isRetrySafeRead() returns ${retrySafe} for ${name}`, () => {
    const read = planOf("tools", query);
    const representation = { format, mediaType: { kind: "json" }, explain: null } as const;
    const cache = cacheWith(functions, relations);
    strictEqual(isRetrySafeRead({ kind: "read", read, representation }, cache), retrySafe);
  });
}
