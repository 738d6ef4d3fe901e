import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { indexSchemaCache } from "../../../../src/state/schema_cache/lookups.ts";
import type {
  MediaHandler,
  Relation,
  Relationship,
  Routine,
} from "../../../../src/state/schema_cache/schema_cache.ts";

function relation(schema: string, name: string, ...columns: readonly string[]): Relation {
  return {
    schema,
    name,
    comment: null,
    isView: false,
    insertable: true,
    updatable: true,
    deletable: true,
    volatile: false,
    primaryKey: [],
    columns: columns.map((name) => ({
      name,
      comment: null,
      nullable: true,
      declaredType: "text",
      baseType: "text",
      maxLength: null,
      default: null,
      generated: false,
      enumLabels: [],
    })),
  };
}

function relationship(origin: [string, string], foreign: [string, string]): Relationship {
  return {
    kind: "many-to-one",
    origin: { schema: origin[0], name: origin[1] },
    foreign: { schema: foreign[0], name: foreign[1] },
    self: false,
    originIsParent: false,
    originIsView: false,
    foreignIsView: false,
    constraint: "fk",
    pairs: [["a", "b"]],
  };
}

function routine(schema: string, name: string, comment: string | null = null): Routine {
  return {
    schema,
    name,
    comment,
    parameters: [],
    returns: {
      set: false,
      composite: false,
      typeSchema: "pg_catalog",
      typeName: "text",
      void: false,
      domain: null,
      relation: null,
    },
    volatility: "stable",
    isolation: null,
    settings: [],
  };
}

const computed: Relationship = {
  kind: "computed",
  origin: { schema: "api", name: "b" },
  foreign: { schema: "other", name: "x" },
  function: { schema: "api", name: "f" },
  self: false,
  toOne: false,
};

const relations = [
  relation("api", "b", "id", "constructor"),
  relation("api", "a"),
  relation("api.b", "x"),
  relation("other", "x", "id"),
];
const relationships = [
  relationship(["api", "a"], ["api", "b"]),
  relationship(["api", "a"], ["other", "x"]),
  computed,
  relationship(["other", "x"], ["api", "a"]),
];
const routines = [routine("api", "f"), routine("api", "f", "second"), routine("other", "g")];
const handlers: readonly MediaHandler[] = [
  {
    kind: "aggregate",
    target: { schema: "api", name: "b" },
    handler: { schema: "api", name: "agg" },
    mediaType: "text/Tabs",
    binary: false,
  },
  {
    kind: "any",
    target: null,
    handler: { schema: "api", name: "all" },
    mediaType: "text/tabs",
    binary: false,
  },
  {
    kind: "function",
    target: { schema: "api", name: "b" },
    handler: { schema: "api", name: "b" },
    mediaType: "text/tabs",
    binary: false,
  },
];

const cache = indexSchemaCache({
  relations,
  relationships,
  routines,
  representations: [
    { source: "api.color", target: "json", function: { schema: "api", name: "json" } },
  ],
  mediaHandlers: handlers,
  volatileFunctions: [],
});

const api = (name: string) => ({ schema: "api", name });

const rows: readonly { readonly name: string; readonly is: unknown; readonly gives: unknown }[] = [
  { name: "relation finds by schema and name", is: cache.relation(api("b")), gives: relations[0] },
  {
    name: "relation finds nothing in another schema",
    is: cache.relation(api("x")),
    gives: undefined,
  },
  {
    name: "relation keeps schemas and names with dots apart",
    is: cache.relation({ schema: "api", name: "b.x" }),
    gives: undefined,
  },
  {
    name: "relation finds nothing by a name of object members",
    is: cache.relation({ schema: "constructor", name: "__proto__" }),
    gives: undefined,
  },
  {
    name: "column finds by name",
    is: cache.column(api("b"), "constructor")?.name,
    gives: "constructor",
  },
  {
    name: "column finds nothing unknown",
    is: cache.column(api("b"), "toString"),
    gives: undefined,
  },
  {
    name: "column finds nothing of unknown relations",
    is: cache.column(api("x"), "id"),
    gives: undefined,
  },
  { name: "relationNames sorts", is: cache.relationNames("api"), gives: ["a", "b"] },
  { name: "relationNames of an unknown schema is empty", is: cache.relationNames("no"), gives: [] },
  {
    name: "relationships finds those within a schema",
    is: cache.relationships(api("a"), "api"),
    gives: [relationships[0]],
  },
  {
    name: "relationships finds those to another schema",
    is: cache.relationships(api("a"), "other"),
    gives: [relationships[1]],
  },
  {
    name: "relationships finds computed ones by the function's schema",
    is: cache.relationships(api("b"), "api"),
    gives: [computed],
  },
  {
    name: "relationships finds no computed ones by the foreign relation's schema",
    is: cache.relationships(api("b"), "other"),
    gives: [],
  },
  {
    name: "relatedOrigins leaves out those that are only related to other schemas",
    is: [cache.relatedOrigins("api"), cache.relatedOrigins("other")],
    gives: [["a", "b"], []],
  },
  {
    name: "routines finds overloads in order",
    is: cache.routines(api("f")),
    gives: [routines[0], routines[1]],
  },
  { name: "routines finds nothing unknown", is: cache.routines(api("g")), gives: [] },
  { name: "routineNames lists each name once", is: cache.routineNames("api"), gives: ["f"] },
  {
    name: "representation finds by both types",
    is: cache.representation("api.color", "json"),
    gives: { schema: "api", name: "json" },
  },
  {
    name: "representation finds nothing in the other direction",
    is: cache.representation("json", "api.color"),
    gives: undefined,
  },
  {
    name: "mediaHandler finds a relation's by the lower-case type",
    is: cache.mediaHandler(api("b"), "text/tabs"),
    gives: handlers[0],
  },
  {
    name: "mediaHandler tells a function from a relation of its name",
    is: cache.mediaHandler(api("b"), "text/tabs", "function"),
    gives: handlers[2],
  },
  {
    name: "mediaHandler finds the one for any",
    is: cache.mediaHandler(null, "text/tabs"),
    gives: handlers[1],
  },
  {
    name: "mediaHandler does not fall back to the one for any",
    is: cache.mediaHandler(api("a"), "text/tabs"),
    gives: undefined,
  },
];

for (const { name, is, gives } of rows) {
  Deno.test(`SchemaCache.${name}`, () => deepStrictEqual(is, gives));
}

Deno.test("SchemaCache.derived() computes a value once per cache", () => {
  let calls = 0;
  const derive = (of: typeof cache) => ({ of, number: ++calls });
  const first = cache.derived(derive);
  strictEqual(first.of, cache);
  strictEqual(cache.derived(derive), first);
  strictEqual(indexSchemaCache(cache.data).derived(derive).number, 2);
});

Deno.test("SchemaCache.relationNames() returns the same list every time", () => {
  strictEqual(cache.relationNames("api"), cache.relationNames("api"));
});

Deno.test("SchemaCache data survives JSON", () => {
  deepStrictEqual(JSON.parse(JSON.stringify(cache.data)), cache.data);
});
