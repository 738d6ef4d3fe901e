import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { apiSuite, serviceSuite } from "../support/handler/api.ts";
import {
  type Document,
  documentOf,
  parametersOf,
  resolve,
  validate,
} from "../support/handler/openapi.ts";

const config = { dbSchemas: ["api", "other", "odd"], dbAnonRole: "anon" } as const;
const suite = serviceSuite("openapi", config, { title: "openapi 3.1" });

const accept = { Accept: "application/openapi+json;version=3.1" };
const openapi3 = "application/openapi+json; version=3.1; charset=utf-8";

suite.test("GET / is a valid OpenAPI 3.1 document when it is asked for", async (api) => {
  for (const profile of config.dbSchemas) {
    const response = await api("GET /", { headers: { ...accept, "Accept-Profile": profile } });
    strictEqual(response.headers.get("Content-Type"), openapi3);
    const document = await documentOf(response);
    strictEqual(document.openapi, "3.1.0");
    await validate(document);
  }
});

/** `Accept`, and the version of the answer. */
const versions: readonly (readonly [string, "2.0" | "3.1" | null])[] = [
  ["application/openapi+json", "2.0"],
  ["application/openapi+json;version=2.0", "2.0"],
  ["application/openapi+json;version=3.1", "3.1"],
  ['application/openapi+json; version="3.1"', "3.1"],
  ["application/openapi+json;version=3", "3.1"],
  ["application/openapi+json;version=4.0", null],
  ["application/openapi+json;version=4.0, */*", "2.0"],
  ["application/json, application/openapi+json;version=3.1", "3.1"],
  ["application/openapi+json;version=3.1;q=0.5, application/json", "2.0"],
];

for (const [text, version] of versions) {
  suite.test(`Accept: ${text} gives ${version ?? "406"}`, async (api) => {
    const response = await api("GET /", { headers: { Accept: text } });
    const { swagger, openapi } = await response.json();
    strictEqual(response.status, version === null ? 406 : 200);
    strictEqual(swagger ?? openapi?.slice(0, 3), version ?? undefined);
  });
}

/** Reads the document of a role that may write. */
const fetchDocument = async (api: (line: string, parts: Document) => Promise<Response>) =>
  await documentOf(await api("GET /", { headers: accept, as: "writer" }));

suite.test("the head of the document", async (api) => {
  const { paths: _, components, ...head } = await fetchDocument(api);
  const { version } = head.info;
  deepStrictEqual(head, {
    openapi: "3.1.0",
    info: { version, title: "Tasks of a team", description: "Who does what,\nand when" },
    servers: [{ url: "http://0.0.0.0:3000" }],
  });
  deepStrictEqual(Object.keys(components), ["schemas", "parameters", "responses", "headers"]);
});

suite.test("schemas of rows as they are read, inserted and updated", async (api) => {
  const { schemas } = (await fetchDocument(api)).components;
  deepStrictEqual(schemas.task, {
    type: "object",
    description: "Tasks\n\nThings to do",
    properties: {
      id: { type: "integer", format: "int32", description: "Note:\nThis is a Primary Key.<pk/>" },
      title: { type: "string", maxLength: 80, default: "untitled" },
      owner_id: {
        type: ["integer", "null"],
        format: "int64",
        description:
          "who\n\nNote:\nThis is a Foreign Key to `owner.id`.<fk table='owner' column='id'/>",
      },
      state: { type: ["string", "null"], enum: ["open", "done", null], default: "open" },
      tags: { type: ["array", "null"], items: { type: ["string", "null"] } },
      meta: {},
    },
    required: ["id", "title", "owner_id", "state", "tags", "meta"],
  });
  deepStrictEqual(schemas["task.insert"].required, ["id"]);
  strictEqual("required" in schemas["task.update"], false);
  deepStrictEqual(schemas["task.insert"].properties.title, {
    type: "string",
    maxLength: 80,
    description: 'Default: `"untitled"`',
  });
  deepStrictEqual(schemas["task.update"].properties.title, { type: "string", maxLength: 80 });
  strictEqual("task_count.insert" in schemas, false);
  deepStrictEqual(schemas["error.body"].required, ["code", "message"]);
});

const types: Readonly<Record<string, unknown>> = {
  c_char: { type: ["string", "null"], maxLength: 3 },
  c_bool: { type: ["boolean", "null"] },
  c_numeric: { type: ["number", "null"] },
  c_real: { type: ["number", "null"], format: "float" },
  c_double: { type: ["number", "null"], format: "double" },
  c_json: {},
  c_uuid: { type: ["string", "null"], format: "uuid" },
  c_tz: { type: ["string", "null"], format: "date-time" },
  c_money: { type: ["string", "null"], format: "money" },
  c_pair: { format: "api.pair" },
  c_ints: { type: ["array", "null"], items: { type: ["integer", "null"], format: "int32" } },
  c_jsons: { type: ["array", "null"], items: {} },
  c_positive: { type: "integer", format: "int32" },
  c_open: { type: ["string", "null"], enum: ["open", "done", null] },
};

suite.test("types of columns", async (api) => {
  const { properties } = (await fetchDocument(api)).components.schemas.types;
  for (const [name, type] of Object.entries(types)) deepStrictEqual(properties[name], type, name);
});

const defaults: Readonly<Record<string, unknown>> = {
  d_text: "default",
  d_date: "1900-01-01",
  d_uuid: undefined,
  d_now: undefined,
  d_bool: false,
  d_int: 42,
  d_serial: undefined,
  d_minus: -1,
  d_jsonb: {},
  d_array: undefined,
  d_quote: 'a"b',
  d_state: "done",
  d_apostrophe: "it's",
};

suite.test("defaults that are constants are told, and what is generated is not written", async (api) => {
  const { schemas } = (await fetchDocument(api)).components;
  const { properties } = schemas["defaults.insert"];
  for (const [name, value] of Object.entries(defaults)) {
    deepStrictEqual(schemas.defaults.properties[name].default, value, name);
    const { description } = properties[name];
    strictEqual(description, value === undefined ? value : `Default: \`${JSON.stringify(value)}\``);
    strictEqual("default" in properties[name], false, name);
  }
  for (const name of ["d_generated", "d_always"]) {
    strictEqual(name in properties, false, name);
    strictEqual(schemas.defaults.properties[name].readOnly, true);
  }
  strictEqual(schemas["defaults.insert"].required, undefined);
});

/** Path and verbs. */
const verbs: readonly (readonly [string, string])[] = [
  ["/task", "get,post,put,patch,delete"],
  ["/visit", "get,post,patch,delete"],
  ["/task_count", "get"],
  ["/open_task", "get,post,put,patch,delete"],
  ["/remote", "get"],
  ["/rpc/volatile_one", "post"],
  ["/rpc/stable_one", "get,post"],
  ["/rpc/raw", "post"],
];

suite.test("verbs are those that relations and functions permit", async (api) => {
  const { paths } = await fetchDocument(api);
  deepStrictEqual(verbs.map(([path]) => [path, Object.keys(paths[path]).join()]), verbs);
});

/** Path, and verbs of a role that may read, and insert one column of `partly`. */
const verbsOfReader: readonly (readonly [string, string])[] = [
  ["/task", "get"],
  ["/open_task", "get"],
  ["/remote", "get"],
  ["/partly", "get,post"],
];

suite.test("verbs and schemas are those that the role has the privileges for", async (api) => {
  const document = await documentOf(await api("GET /", { headers: accept }));
  await validate(document);
  const { paths, components: { schemas } } = document;
  const found = verbsOfReader.map(([path]) => [path, Object.keys(paths[path]).join()]);
  deepStrictEqual(found, verbsOfReader);
  strictEqual("task.insert" in schemas, false);
  strictEqual("task.update" in schemas, false);
  strictEqual("partly.insert" in schemas, true);
  strictEqual("/secret" in paths, false);
});

/** Column, and the description and the example of its filter. */
const filterTexts: readonly (readonly [string, string, string])[] = [
  ["task.by.id", "`<operator>.<integer>`", "eq.5"],
  ["task.by.title", "`<operator>.<character varying>`", "ilike.*text*"],
  ["task.by.state", "with a value of `open`, `done`", "eq.open"],
  ["task.by.meta", "`<operator>.<jsonb>`", "not.is.null"],
  ["types.by.c_bool", "`<operator>.<boolean>`", "is.true"],
  ["types.by.c_real", "`<operator>.<real>`", "gte.1.5"],
  ["types.by.c_tz", "`<operator>.<timestamp with time zone>`", "gte.2030-01-01T00:00:00Z"],
  ["types.by.c_uuid", "`<operator>.<uuid>`", "eq.00000000-0000-0000-0000-000000000000"],
  ["types.by.c_ints", "`<operator>.<integer[]>`", "not.is.null"],
  ["types.by.c_money", "`<operator>.<money>`", "not.is.null"],
];

suite.test("filters describe the values of their column, with an example", async (api) => {
  const { parameters } = (await fetchDocument(api)).components;
  strictEqual(parameters["shared.limit"].example, 20);
  for (const [key, values, example] of filterTexts) {
    const parameter = parameters[`filter.${key}`];
    strictEqual(parameter.example, example, key);
    ok(parameter.description.endsWith(values), parameter.description);
  }
});

suite.test("an operation says what it takes and what it answers", async (api) => {
  const document = await fetchDocument(api);
  const { get, post, put } = document.paths["/task"];
  const names = (operation: Document) =>
    parametersOf(document, operation).map(({ name, in: place }) => `${place}:${name}`);
  const filters = ["id", "title", "owner_id", "state", "tags", "meta"].map((c) => `query:${c}`);
  const first = ["select", "order", "limit"].map((name) => `query:${name}`);
  const clauses = ["distinct", "having", "after", "before"];
  const more = ["offset", "and", "or", ...clauses].map((name) => `query:${name}`);
  const headers = [
    ...["Range", "Range-Unit", "Prefer", "Accept-Profile"],
    ...["If-None-Match", "If-Match"],
  ].map((h) => `header:${h}`);
  deepStrictEqual(names(get), [...first, ...filters, ...more, ...headers]);
  deepStrictEqual(names(put), [
    "query:select",
    "query:id",
    "query:columns",
    "header:Prefer",
    "header:Content-Profile",
    "header:Idempotency-Key",
    "header:If-Match",
    "header:If-None-Match",
  ]);
  deepStrictEqual(Object.keys(get.responses), ["200", "206", "304", "default"]);
  const rows = resolve(document, get.responses[200]);
  deepStrictEqual(Object.keys(rows.headers), ["Content-Range", "Link", "ETag"]);
  deepStrictEqual(Object.keys(resolve(document, get.responses[304]).headers), ["ETag"]);
  deepStrictEqual(rows.content["application/json"].schema, {
    type: "array",
    items: { $ref: "#/components/schemas/task" },
  });

  deepStrictEqual(Object.keys(rows.content), [
    "application/json",
    "application/vnd.svc.array+json;nulls=stripped",
    "application/vnd.svc.object+json",
    "application/vnd.svc.object+json;nulls=stripped",
    "application/x-ndjson",
    "text/csv",
  ]);
  deepStrictEqual(Object.keys(post.requestBody.content), [
    "application/json",
    "application/x-ndjson",
    "application/x-www-form-urlencoded",
    "text/csv",
  ]);
  const error = resolve(document, get.responses.default).content["application/json"].schema;
  strictEqual(error.$ref, "#/components/schemas/error.body");
});

/** Path, and the clauses of a read there. */
const clauses: readonly (readonly [string, readonly string[]])[] = [
  ["/rpc/tasks_of", ["distinct", "having", "after", "before"]],
  ["/rpc/rows_of", ["distinct", "having"]],
  ["/rpc/texts_of", []],
  ["/rpc/both", []],
];

suite.test("reads take clauses, and cursors where a key is known", async (api) => {
  const document = await fetchDocument(api);
  for (const [path, expected] of clauses) {
    const { get, post } = document.paths[path];
    for (const operation of get === undefined ? [post] : [get, post]) {
      const names = parametersOf(document, operation).map(({ name }) => name);
      deepStrictEqual(
        names.filter((name) => ["distinct", "having", "after", "before"].includes(name)),
        expected,
        path,
      );
    }
  }
});

/** Function, and the schema of its result. */
const results: readonly (readonly [string, unknown])[] = [
  ["tasks_of", { type: "array", items: { $ref: "#/components/schemas/task" } }],
  ["rows_of", { type: "array", items: { type: "object" } }],
  ["both", { type: "object" }],
  ["many", { type: "integer", format: "int32" }],
  ["mood_of", { format: "other.mood" }],
  ["texts_of", { type: "array", items: { type: ["string", "null"] } }],
  ["raw", {}],
];

suite.test("limited writes have lock", async (api) => {
  const document = await fetchDocument(api);
  for (const method of ["get", "post", "patch", "delete"] as const) {
    const operation = document.paths["/task"][method];
    const found = parametersOf(document, operation).find(({ name }) => name === "lock");
    const takesLock = method === "patch" || method === "delete";
    deepStrictEqual(
      found?.schema,
      takesLock ? { type: "string", enum: ["skip", "nowait"] } : undefined,
    );
  }
});

suite.test("results of functions", async (api) => {
  const { paths } = await fetchDocument(api);
  deepStrictEqual(
    results.map(([name]) => {
      const { content } = paths[`/rpc/${name}`].post.responses[200];
      return [name, content["application/json"].schema];
    }),
    results,
  );
  deepStrictEqual(Object.keys(paths["/rpc/nothing"].get.responses), ["204", "default"]);
});

suite.test("arguments of functions", async (api) => {
  const document = await fetchDocument(api);
  const { get, post } = document.paths["/rpc/stable_one"];
  deepStrictEqual(get.parameters.slice(0, 3), [
    { name: "n", in: "query", required: true, schema: { type: "integer", format: "int32" } },
    { name: "ids", in: "query", required: true, schema: { type: "string", format: "integer[]" } },
    { name: "j", in: "query", required: true, schema: { type: "string", format: "json" } },
  ]);
  deepStrictEqual(post.requestBody.content["application/json"].schema.required, [
    "n",
    "ids",
    "j",
    "s",
  ]);
  // An argument named like a reserved parameter stands in quotes.
  const paged = document.paths["/rpc/paged"];
  const names = parametersOf(document, paged.get).map(({ name }) => name);
  deepStrictEqual(names.filter((name) => name === "limit").length, 1);
  ok("limit" in paged.post.requestBody.content["application/json"].schema.properties);
  strictEqual(
    Object.keys(document.paths["/rpc/bytes"].post.requestBody.content).join(),
    "application/octet-stream",
  );
});

suite.test("a document of another schema than the first demands its profile", async (api) => {
  const { components } = await documentOf(
    await api("GET /", { headers: { ...accept, "Accept-Profile": "odd" } }),
  );
  const { required, schema } = components.parameters["shared.readProfile"];
  deepStrictEqual({ required, schema }, { required: true, schema: { const: "odd" } });
  deepStrictEqual(Object.keys(components.schemas).filter((key) => !/insert|update/.test(key)), [
    "error.body",
    "a",
    "a.2e.b",
    "quo.22.te.3f..23.",
    "reserved",
    "sl.2f.ash.20..7e.ti.7b.l.7d.de",
    ".434..430..43d..43d..44b..435.",
  ]);
});

suite.rows("HEAD", [
  ["HEAD /", { headers: accept }, 200, undefined, {
    "Content-Type": openapi3,
    "Content-Length": null,
  }],
]);

const configured = serviceSuite("openapi", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  openapiVersion: "3.1",
  openapiSecurityActive: true,
  openapiServerProxyUri: "https://example.com/base/",
  etagMode: "on",
  idempotencyTable: { schema: "svc", name: "keys" },
}, { title: "openapi 3.1, configured" });

configured.test("openapi-version is the version when Accept names none", async (api) => {
  const document = await documentOf(await api("GET /"));
  strictEqual(document.openapi, "3.1.0");
  await validate(document);
  deepStrictEqual(document.servers, [{ url: "https://example.com:443/base" }]);
  deepStrictEqual(document.security, [{}, { JWT: [] }]);
  strictEqual(document.components.securitySchemes.JWT.scheme, "bearer");
  const names = parametersOf(document, document.paths["/task"].get).map(({ name }) => name);
  strictEqual(names.includes("Accept-Profile"), false);
  const old = await api("GET /", { headers: { Accept: "application/openapi+json;version=2.0" } });
  strictEqual((await documentOf(old)).swagger, "2.0");
});

const headerNames = ["Idempotency-Key", "If-Match", "If-None-Match"];

/** Headers by method of the table `task`, and by method of functions. */
const headersOf = (document: Document, path: string) =>
  Object.fromEntries(
    Object.entries(document.paths[path] as Record<string, Document>).map(([method, operation]) => [
      method,
      parametersOf(document, operation).map(({ name }) => name)
        .filter((name) => headerNames.includes(name)),
    ]),
  );

const [keys, match, noneMatch] = headerNames as [string, string, string];

for (const [title, test] of [["off", suite], ["on", configured]] as const) {
  test.test(`3.1 lists keys and preconditions, which are ${title}`, async (api) => {
    const document = await fetchDocument(api);
    deepStrictEqual(headersOf(document, "/task"), {
      get: [noneMatch, match],
      post: [keys],
      put: [keys, match, noneMatch],
      patch: [keys, match],
      delete: [keys, match],
    });
    deepStrictEqual(headersOf(document, "/"), { get: [noneMatch], post: [keys] });
    deepStrictEqual(headersOf(document, "/rpc/tasks_of"), { get: [noneMatch], post: [] });
  });
}

/** What 2.0 lists with each option. */
const turnedOn: readonly (readonly [
  Partial<Parameters<typeof apiSuite>[1]>,
  read: readonly string[],
  write: readonly string[],
])[] = [
  [{}, [], []],
  [{ etagMode: "on" }, [match, noneMatch], [match]],
  [{ idempotencyTable: { schema: "svc", name: "keys" } }, [], [keys]],
];

for (const [options, read, write] of turnedOn) {
  const old = serviceSuite("openapi", { dbSchemas: ["api"], dbAnonRole: "anon", ...options }, {
    title: `openapi 2.0, ${JSON.stringify(options)}`,
  });
  old.test("2.0 lists keys and preconditions that are on", async (api) => {
    const document = await documentOf(await api("GET /"));
    await validate(document);
    const { get, post, patch, delete: removal } = headersOf(document, "/task");
    deepStrictEqual([get, patch, removal], [read, write, write]);
    deepStrictEqual(post, write.filter((name) => name === keys));
    deepStrictEqual(headersOf(document, "/rpc/tasks_of").get, read.filter((n) => n === noneMatch));
  });
}
