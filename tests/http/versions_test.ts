/** `db-schemas` with fall-through: `api < v1`. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { consoleSchema } from "../../src/wings/console/server/console_schema.ts";
import type { TypeCatalogue } from "../../src/state/schema_cache/queries/type_catalogue.ts";
import { databaseTypes } from "../../src/wings/types/database_types.ts";
import { callMcp } from "../support/clients/mcp_client.ts";
import { schemaCacheLoader } from "../support/database/schema_cache.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { answer, answers } from "../support/handler/rows.ts";

const config = { dbSchemas: ["api < v1", "admin"], dbAnonRole: "anon", dbCommentTags: true };
const suite = serviceSuite("versions", config);
const v1 = { headers: { "Accept-Profile": "v1" } };
const admin = { headers: { "Accept-Profile": "admin" } };

suite.rows("a schema serves what it has, and else what the one behind it has", [
  ["GET /people?id=eq.1", {}, 200, [{ id: 1, first_name: "Ann", last_name: "Lee" }], {
    "Content-Profile": "api",
    Deprecation: null,
  }],
  ["GET /people?id=eq.1&select=name", v1, 200, [{ name: "Ann Lee" }], { "Content-Profile": "v1" }],
  ["GET /tags?order=id&limit=1", {}, 200, [{ id: 1, name: "new" }], { "Content-Profile": "api" }],
  ["GET /audits", admin, 200, [{ id: 1, order_id: 10 }]],
  ...answers()`
    GET /audits | 404 SVC205 | Could not find the table 'api.audits' in the schema cache
    GET /tagz | 404 SVC205 | Could not find the table 'api.tagz' in the schema cache |  | Perhaps you meant the table 'api.tags'
    POST /tags?select=name {Prefer: return=representation} with {"id":9,"name":"old"}
      201 [{"name":"old"}]
  `,
  ["PATCH /tags?id=eq.1", { body: { name: "x" } }, 204, undefined],
  ["DELETE /tags?id=eq.7", {}, 204, undefined],
]);

suite.answers("an embed reaches what its schema reaches")`
  // A table of v1 and a view of api in place of the table of v1, either way.
  GET /orders?select=id,people!person_id(first_name)&order=id&limit=1
    200 [{"id":10,"people":{"first_name":"Ann"}}]
  GET /people?select=first_name,orders!person_id(total)&id=eq.2
    200 [{"first_name":"Ben","orders":[{"total":7}]}]
  GET /orders?select=id,people!person_id(name)&id=eq.10 {Accept-Profile: v1}
    200 [{"id":10,"people":{"name":"Ann Lee"}}]
  GET /orders?select=id,people(first_name)
    300 {"code":"SVC201","details":[{"cardinality":"many-to-one","embedding":"orders with
      + people","relationship":"orders_helper_id_fkey using orders(helper_id) and people(id)"},
      +{"cardinality":"many-to-one","embedding":"orders with people",
      +"relationship":"orders_person_id_fkey using orders(person_id) and people(id)"}],
      +"hint":"Try changing 'people' to one of the following: 'people!orders_helper_id_fkey',
      + 'people!orders_person_id_fkey'. Find the desired relationship in the 'details' key.",
      +"message":"Could not embed because more than one relationship was found for 'orders' and
      + 'people'"}
  // A declared key of the new version.
  GET /totals?select=doubled,orders!totals_order(total)&order_id=eq.10
    200 [{"doubled":10,"orders":{"total":5}}]
  // Two junctions of one name: that of api hides the other.
  GET /orders?select=id,tags(name)&order=id
    200 [{"id":10,"tags":[]},{"id":11,"tags":[{"name":"new"}]}]
  GET /orders?select=id,tags!order_tags(name)&id=eq.11 | 200 [{"id":11,"tags":[{"name":"new"}]}]
  GET /orders?select=order_tags(tag_id)&id=eq.11 | 200 [{"order_tags":[{"tag_id":1}]}]
  // Functions of rows: that of api hides that of v1 for the same rows.
  GET /orders?select=id,buyer(name),top_tag(name)&id=eq.11
    200 [{"id":11,"buyer":{"name":"Ben Ray"},"top_tag":{"name":"big"}}]
  GET /orders?select=id,top_tag(name)&id=eq.11 {Accept-Profile: v1}
    200 [{"id":11,"top_tag":{"name":"new"}}]
  GET /orders?select=gross,net&net=gt.3&order=id | 200 [{"gross":14,"net":3.5}]
  GET /audits?select=id,api/orders(total,api/people!person_id(first_name)) {Accept-Profile: admin}
    200 [{"id":1,"orders":{"total":5,"people":{"first_name":"Ann"}}}]
  GET /orders?select=id,peeple(first_name)&id=eq.10
    400 SVC200 | Could not find a relationship between 'orders' and 'peeple' in the schema cache | Searched for a foreign key relationship between 'orders' and 'peeple' in the schema 'api', but no matches were found. | Perhaps you meant 'people' instead of 'peeple'.
  GET /order?select=*,people(*) | 404 SVC205 | Could not find the table 'api.order' in the schema cache |  | Perhaps you meant the table 'api.orders'
`;

suite.rows("a function of a schema hides all overloads behind it", [
  ["GET /rpc/edition", {}, 200, "two"],
  ["GET /rpc/edition", v1, 200, "one"],
  ["GET /rpc/add?a=1&b=2", {}, 200, 103],
  ["GET /rpc/add?a=1&b=2&c=3", v1, 200, 6],
  ...answers()`
    GET /rpc/add?a=1&b=2&c=3
      404 SVC202 | Could not find the function api.add(a, b, c) in the schema cache | Searched for the function api.add with parameters a, b, c, but no matches were found in the schema cache. | Perhaps you meant to call the function api.add(a, b)
    GET /rpc/totals
      404 SVC202 | Could not find the function api.totals without parameters in the schema cache | Searched for the function api.totals without parameters, but no matches were found in the schema cache. | Perhaps you meant to call the function api.total
    GET /rpc/total | 200 12
    // Names in functions follow the search path of the request.
    GET /rpc/path | 200 "\"api\", \"v1\", \"public\", pg_temp"
  `,
  ["GET /rpc/path", v1, 200, '"v1", "public", pg_temp'],
  ["GET /rpc/who", {}, 200, "two"],
  ["GET /rpc/first_people?select=name", {}, 200, [{ name: "Ann Lee" }]],
  ["GET /rpc/first_people?select=name,orders!person_id(id)", {}, 200, [
    { name: "Ann Lee", orders: [{ id: 10 }] },
  ]],
]);

const ofSchema = { Deprecation: "@1798761600", Sunset: "Thu, 01 Jul 2027 00:00:00 GMT" };
const ofTable = { Deprecation: "@1796083200", Sunset: "Tue, 01 Dec 2026 00:00:00 GMT" };
const fresh = { Deprecation: null, Sunset: null };

suite.rows("@deprecated adds headers", [
  ["GET /tags?limit=0", v1, 200, [], ofSchema],
  ["HEAD /tags?limit=0", v1, 200, undefined, ofSchema],
  ["GET /rpc/total", v1, 200, 12, ofSchema],
  [
    "POST /tags",
    { body: { id: 8, name: "y" }, headers: { "Content-Profile": "v1" } },
    201,
    undefined,
    ofSchema,
  ],
  ["GET /tags?limit=0", {}, 200, [], fresh],
  ["GET /rpc/total", {}, 200, 12, fresh],
  ["GET /drafts?limit=0", {}, 200, [], ofTable],
  ["GET /drafts?limit=0", v1, 200, [], ofTable],
  ["PATCH /drafts?id=eq.1", { body: { state: "old" } }, 204, undefined, ofTable],
  ["GET /rpc/first_people?limit=0", {}, 200, [], ofTable],
  ["GET /drafts?limit=0", { headers: { Origin: "https://example.com" } }, 200, [], {
    "Access-Control-Expose-Headers":
      "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, " +
      "Transfer-Encoding, Range-Unit, Deprecation, Sunset",
  }],
]);

suite.rows("privileges are those of the relation that serves", [
  // The view of api reads as its owner.
  ["GET /secrets", {}, 200, []],
  ...answers()`
GET /closed | 401 42501 | permission denied for table closed
`,
  ["GET /secrets", v1, ...answer("401 42501 | permission denied for table secrets")],
]);

for (const version of ["2.0", "3.1"]) {
  suite.test(`OpenAPI ${version} lists what a schema serves`, async (api) => {
    const accept = { Accept: `application/openapi+json;version=${version}` };
    const pathsOf = async (profile: string) => {
      const headers = { ...accept, "Accept-Profile": profile };
      return (await (await api("GET /", { headers })).json()) as {
        readonly info: { readonly title: string; readonly description: string };
        readonly paths: Record<
          string,
          Record<string, { deprecated?: true; parameters?: unknown[] }>
        >;
        readonly definitions?: Record<string, { properties: object }>;
        readonly components?: { schemas: Record<string, { properties: object }> };
      };
    };
    const two = await pathsOf("api");
    deepStrictEqual(Object.keys(two.paths).filter((path) => !path.startsWith("/rpc/")), [
      "/",
      "/drafts",
      "/order_tags",
      "/orders",
      "/people",
      "/secrets",
      "/tags",
      "/totals",
    ]);
    deepStrictEqual(
      Object.keys(two.paths).filter((path) => path.startsWith("/rpc/")),
      ["add", "edition", "first_people", "path", "total", "who"].map((name) => `/rpc/${name}`),
    );
    const { people, orders } = (two.definitions ?? two.components!.schemas) as Record<string, {
      properties: Record<string, { description: string }>;
    }>;
    deepStrictEqual(Object.keys(people!.properties), ["id", "first_name", "last_name"]);
    strictEqual(orders!.properties.person_id!.description.includes("`people.id`"), true);
    strictEqual(two.paths["/drafts"]!.get!.deprecated, true);
    strictEqual(two.paths["/rpc/first_people"]!.get!.deprecated, true);
    strictEqual(two.paths["/tags"]!.get!.deprecated, undefined);
    const one = await pathsOf("v1");
    strictEqual(one.paths["/tags"]!.get!.deprecated, true);
    strictEqual(one.paths["/rpc/total"]!.get!.deprecated, true);
    // The role has no privilege on the table.
    strictEqual(one.paths["/secrets"], undefined);
    strictEqual(one.info.title, "The first version");
    strictEqual(one.info.description.includes("@deprecated"), false);
  });
}

/** Runs rows with another configuration. */
const chain = serviceSuite("versions", {
  dbSchemas: ["admin < api<v1"],
  dbAnonRole: "anon",
  dialect: "pgrst",
}, { title: "three versions in pgrst" });

chain.rows("a schema behind another has its own ones behind it", [
  ["GET /audits?select=id,orders(total,people!person_id(first_name))", {}, 200, [
    { id: 1, orders: { total: 5, people: { first_name: "Ann" } } },
  ]],
  ["GET /rpc/path", {}, 200, '"admin", "api", "v1", "public", pg_temp'],
  ["GET /rpc/edition", {}, 200, "two"],
  ["GET /drafts?limit=0", {}, 200, [], { Deprecation: null, "Content-Profile": "admin" }],
  [
    "GET /audits",
    v1,
    ...answer("404 PGRST205 | Could not find the table 'v1.audits' in the schema cache"),
  ],
]);

const agents = serviceSuite("versions", { ...config, mcpPath: "/mcp" }, {
  title: "agents and versions",
});

agents.test("describe_relation describes what a schema serves", async (api) => {
  const { structuredContent: { schema, embeds } } = await callMcp(api.handler, [
    "describe_relation",
    { relation: "orders" },
  ]);
  strictEqual(schema, "api");
  const names = embeds.map(({ relation }: { readonly relation: string }) => relation);
  deepStrictEqual([...new Set(names)].sort(), [
    "buyer",
    "order_tags",
    "people",
    "tags",
    "top_tag",
    "totals",
  ]);
  const { structuredContent: { relations } } = await callMcp(api.handler, ["list_relations", {}]);
  deepStrictEqual(
    relations.filter(({ kind }: { readonly kind: string }) => kind !== "function")
      .map(({ name }: { readonly name: string }) => name),
    ["drafts", "order_tags", "orders", "people", "secrets", "tags", "totals"],
  );
});

const load = schemaCacheLoader();

Deno.test("the console and types show what a schema serves", async () => {
  const sql = await Deno.readTextFile(new URL("../fixtures/versions.sql", import.meta.url));
  const schemas = Object.assign(["api", "v1"], { fallbacks: new Map([["api", ["v1"]]]) });
  const cache = await load(sql.split("grant usage")[0]!, { schemas, tags: true });
  const { relations, functions } = consoleSchema(cache);
  const namesOf = (list: readonly { readonly schema: string; readonly name: string }[]) =>
    [...new Set(list.filter(({ schema }) => schema === "api").map(({ name }) => name))].sort();
  deepStrictEqual(
    namesOf(relations),
    ["closed", "drafts", "order_tags", "orders", "people", "secrets", "tags", "totals"],
  );
  deepStrictEqual(namesOf(functions), ["add", "edition", "first_people", "path", "total", "who"]);
  const catalogue: TypeCatalogue = {
    enums: [],
    composites: [],
    domains: [],
    results: [],
    readOnlyColumns: [],
  };
  const types = databaseTypes(cache.data, catalogue, { dbSchemas: schemas });
  const ofApi = types.split(/^ {2}"?v1"?: /m)[0]!;
  match(ofApi, /"?orders"?: \{[^]*referencedRelation: "people"/);
  match(ofApi, /"?total"?: \{/);
});
