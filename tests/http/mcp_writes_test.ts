import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import {
  callMcp,
  type ClientParts,
  connectMcp,
  type Result,
  resultText as textOf,
  toolRows,
} from "../support/clients/mcp_client.ts";

const config = {
  dbSchemas: ["api", "other"],
  dbAnonRole: "anon",
  mcpPath: "/mcp",
  mcpWrite: ["film", "note", "add_language", "other.place", "secret"],
  mcpFunctions: ["add", "api.films_of", "add_language", "hidden", "other.places"],
  mcpMaxRows: 5,
  dbTxEnd: "commit-allow-override",
} as const;
const suite = serviceSuite("mcp", config, {
  title: "mcp writes",
  roles: ["anon", "writer", "agent"],
});

const asWriter: ClientParts = { as: "writer" };
const call = (api: Api, name: string, args: Readonly<Record<string, unknown>>, parts = asWriter) =>
  callMcp(api.handler, [name, args, parts]);
const count = async (api: Api, line: string) => (await (await api(`GET ${line}`)).json()).length;

suite.test("tools/list shows the tools that the role can use", async (api) => {
  const namesOf = async (parts: ClientParts) => {
    await using mcp = await connectMcp((request) => api.handler(request), parts);
    const { tools } = await mcp.client.listTools();
    return tools.map(({ name }) => name);
  };
  const reads = ["list_relations", "describe_relation", "query", "call_function"];
  const functions = ["rpc.add", "rpc.films_of", "rpc.add_language", "rpc.other.places"];
  deepStrictEqual(await namesOf({}), [...reads, ...functions]);
  const writes = ["insert_rows", "update_rows", "delete_rows"];
  deepStrictEqual(await namesOf(asWriter), [...reads, ...writes, ...functions]);
});

suite.test("tools say whether they write, and what they take", async (api) => {
  await using mcp = await connectMcp((request) => api.handler(request), asWriter);
  const { tools } = await mcp.client.listTools();
  const find = (wanted: string) => tools.find(({ name }) => name === wanted)!;
  strictEqual(find("delete_rows").annotations?.destructiveHint, true);
  strictEqual(find("insert_rows").annotations?.destructiveHint, false);
  deepStrictEqual(find("rpc.add"), {
    name: "rpc.add",
    description: "Adds two numbers",
    inputSchema: {
      type: "object",
      properties: {
        a: { type: "integer", format: "int32" },
        b: { type: "integer", format: "int32" },
      },
      required: ["a", "b"],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  });
});

suite.test("insert_rows, update_rows and delete_rows return the rows", async (api) => {
  const rows = [{ id: 900, title: "A" }, { id: 901, title: "B", rating: "R" }];
  const inserted = await call(api, "insert_rows", { relation: "film", rows, select: "id,rating" });
  deepStrictEqual(inserted.structuredContent, {
    rows: [{ id: 900, rating: "G" }, { id: 901, rating: "R" }],
    dryRun: false,
  });
  match(textOf(inserted), /^POST \/film\?columns=.* as writer: 2 rows, done\. Data/);
  const where = { id: ["gte.900", "lte.901"] };
  const updated = await call(api, "update_rows", {
    relation: "film",
    where,
    values: { title: "C" },
    select: "title",
  });
  deepStrictEqual(updated.structuredContent.rows, [{ title: "C" }, { title: "C" }]);
  const deleted = await call(api, "delete_rows", { relation: "film", where, select: "id" });
  deepStrictEqual(deleted.structuredContent.rows, [{ id: 900 }, { id: 901 }]);
  strictEqual(await count(api, "/film?id=gte.900"), 0);
});

suite.test("dry_run undoes a write", async (api) => {
  const args = { relation: "film", where: { id: "eq.7" }, select: "id", dry_run: true };
  const result = await call(api, "delete_rows", args);
  deepStrictEqual(result.structuredContent, { rows: [{ id: 7 }], dryRun: true });
  strictEqual(await count(api, "/film?id=eq.7"), 1);
});

/** Label, tool, arguments, the beginning of the text; nothing changes. */
const refusals = toolRows`
  more rows than mcp-max-rows | update_rows {"relation":"film","where":{"id":"gt.0"},
    +"values":{"title":"X"}} | SVC124
  more rows than mcp-max-rows | delete_rows {"relation":"film","where":{"id":"gt.1"}} | SVC124
  a relation that mcp-write lacks | insert_rows {"relation":"language","rows":[{"id":9,"name":"x"}]}
    + | ^mcp-write does not list api\.language: nothing was sent$
  a relation of another schema | insert_rows {"relation":"film","schema":"other","rows":[{"id":9}]}
    + | ^mcp-write does not list other\.film
  a forbidden relation | insert_rows {"relation":"secret","rows":[{"id":1}]} | 42501
  a row that a policy forbids | insert_rows {"relation":"note","rows":[{"id":9,"owner":"anon",
    +"body":""}]} | 42501.*row-level security
  an unknown relation | delete_rows {"relation":"secrets","where":{"id":"eq.1"}} | mcp-write does
    + not list
`;

for (const [label, tool, args, text] of refusals) {
  suite.test(`${tool} fails for ${label}`, async (api) => {
    const result = await call(api, tool, args);
    strictEqual(result.isError, true);
    match(textOf(result), text);
    deepStrictEqual([await count(api, "/film"), await count(api, "/language")], [150, 2]);
  });
}

/** Label, `where`, message. */
const invalid: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
  ["no filter", {}, /where/],
  ["another parameter", { limit: "1" }, /is not a filter/],
  ["a group", { or: "(id.gt.0)" }, /is not a filter/],
  ["the columns that rows are matched by", { on: "id" }, /is not a filter/],
  ["a filter of an embed", { "language.name": "eq.x" }, /is not a column of film/],
  ["a filter across an embed", { "language(name)": "eq.x" }, /is not a column of film/],
  ["a limit of an embed", { "actor.limit": "1" }, /is not a column of film/],
  ["an unknown column", { titel: "eq.x" }, /is not a column of film/],
  ["a column with a function", { "id.add(1)": "eq.x" }, /is not a column of film/],
  ["a quoted name and more", { '"id".x': "eq.1" }, /is not a column of film/],
];

for (const [label, where, message] of invalid) {
  for (const tool of ["delete_rows", "update_rows"]) {
    suite.test(`${tool} is refused for ${label} in where`, async (api) => {
      const values = tool === "update_rows" ? { values: { title: "X" } } : {};
      await rejects(call(api, tool, { relation: "film", where, ...values }), (error: Result) => {
        strictEqual(error.code, -32602);
        match(error.message, message);
        return true;
      });
      strictEqual(await count(api, "/film?title=neq.X"), 150);
    });
  }
}

suite.test("insert_rows is refused for more rows than mcp-max-rows", async (api) => {
  const rows = Array.from({ length: 6 }, (_, index) => ({ id: 900 + index, title: "x" }));
  await rejects(call(api, "insert_rows", { relation: "film", rows }), /rows: at most 5/);
});

suite.test("a key that is no column is refused, since it could name another relation", async (api) => {
  const row = { id: 900, title: "A", language: { id: 9, name: "x" } };
  const args = { relation: "film", rows: [row] };
  await rejects(call(api, "insert_rows", args), /"language" is not a column of film/);
  const where = { id: "eq.1" };
  const update = { relation: "film", where, values: { language: { name: "x" } } };
  await rejects(call(api, "update_rows", update), /"language" is not a column of film/);
});

suite.test("filters on columns in double quotes count", async (api) => {
  const where = { id: "eq.3", '"odd name"': "is.null" };
  const args = { relation: "film", where, select: "id", dry_run: true };
  const { structuredContent } = await call(api, "delete_rows", args);
  deepStrictEqual(structuredContent.rows, [{ id: 3 }]);
});

suite.test("call_function writes with functions of mcp-write", async (api) => {
  const args = { id: 77, name: "Esperanto" };
  const result = await call(api, "call_function", { function: "add_language", arguments: args });
  strictEqual(result.isError, false, textOf(result));
  strictEqual(await count(api, "/language?id=eq.77"), 1);
  const where = { id: "eq.77" };
  const again = await call(api, "rpc.add_language", args);
  match(textOf(again), /23505/);
  await api("DELETE /language?id=eq.77", { as: "writer" });
  strictEqual(await count(api, "/language?id=eq.77"), 0);
  match(
    textOf(await call(api, "delete_rows", { relation: "language", where })),
    /mcp-write does not list/,
  );
});

suite.test("tools for functions take the parameters of the function", async (api) => {
  deepStrictEqual((await call(api, "rpc.add", { a: 1, b: 2 })).structuredContent, { result: 3 });
  const films = await call(api, "rpc.films_of", { rating: "PG" });
  deepStrictEqual(films.structuredContent.rows.length, 5);
  await rejects(call(api, "rpc.add", { a: 1, b: 2, select: "x" }), /no parameter "select"/);
  deepStrictEqual((await call(api, "rpc.other.places", {})).structuredContent, { result: 0 });
  await rejects(call(api, "rpc.seen", {}), /Unknown tool/);
  match(textOf(await call(api, "rpc.hidden", {})), /42501/);
});
