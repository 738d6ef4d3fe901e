import { queryName } from "../../../../src/api/request/url/filter_param.ts";
import {
  componentKey,
  reference,
  rowFilterKey,
  splitComment,
  summaryOf,
} from "../../../../src/api/response/openapi/names.ts";
import { pathSegment } from "../../../../src/base/http/percent.ts";
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { pgrstDialect, svcDialect } from "../../../../src/base/dialect.ts";
import {
  addressOf,
  configKey,
  documentationOf,
  type DocumentConfig,
} from "../../../../src/api/response/openapi/about.ts";
import { turn } from "../../../../src/base/lib/timers.ts";
import {
  createStore,
  ObjectMembers,
  writeDocument,
} from "../../../../src/api/response/openapi/document_store.ts";
import { buildModel, type DescribedRelation } from "../../../../src/api/response/openapi/model.ts";
import { openApi2 } from "../../../../src/api/response/openapi/v2.ts";
import { openApi3 } from "../../../../src/api/response/openapi/v3.ts";
import { indexSchemaCache } from "../../../../src/state/schema_cache/lookups.ts";
import type { Column, Relation, Routine } from "../../../../src/state/schema_cache/schema_cache.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";
import { validate } from "../../../support/handler/openapi.ts";

const config: DocumentConfig = {
  dialect: svcDialect,
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  etagMode: "off",
  idempotencyTable: null,
  batchMaxOperations: 0,
  openapiServerProxyUri: null,
  openapiSecurityActive: false,
  serverPathPrefix: null,
  serverHost: "*4",
  serverPort: 3000,
};

/** Proxy URI or `server-host`, and scheme, host and base path. */
const addresses: readonly (readonly [Partial<DocumentConfig>, string])[] = [
  ...["*", "*4", "!4", "*6", "!6"].map((serverHost) =>
    [{ serverHost }, "http 0.0.0.0:3000 /"] as const
  ),
  [{ serverHost: "localhost", serverPort: 80 }, "http localhost:80 /"],
  [{ serverHost: "::1" }, "http [::1]:3000 /"],
  [{ openapiServerProxyUri: "https://example.com" }, "https example.com:443 /"],
  [{ openapiServerProxyUri: "http://example.com" }, "http example.com:80 /"],
  [{ openapiServerProxyUri: "HTTP://example.com:8080" }, "http example.com:8080 /"],
  [
    { openapiServerProxyUri: "https://example.com:8443/base/path" },
    "https example.com:8443 /base/path",
  ],
  [{ openapiServerProxyUri: "https://x.org/openapi.json" }, "https x.org:443 /openapi.json"],
];

for (const [part, expected] of addresses) {
  Deno.test(`addressOf() of ${JSON.stringify(part)} is ${expected}`, () => {
    const { scheme, host, basePath } = addressOf({ ...config, ...part });
    strictEqual(`${scheme} ${host} ${basePath}`, expected);
  });
}

Deno.test("documentationOf() returns externalDocs in dialects with external documentation", () => {
  const docs = {
    description: "PostgREST Documentation",
    url: "https://docs.postgrest.org/en/v16/references/api.html",
  };
  deepStrictEqual(documentationOf({ ...config, dialect: pgrstDialect }), { externalDocs: docs });
  deepStrictEqual(documentationOf(config), {});
});

Deno.test("configKey() differs if documents differ", () => {
  const parts: readonly Partial<DocumentConfig>[] = [
    {},
    { dialect: pgrstDialect },
    { dbSchemas: ["api", "b"] },
    { dbAnonRole: null },
    { openapiSecurityActive: true },
    { openapiServerProxyUri: "https://x.org" },
    { serverPort: 1 },
    { etagMode: "on" },
    { idempotencyTable: {} },
    { batchMaxOperations: 1 },
  ];
  strictEqual(new Set(parts.map((part) => configKey({ ...config, ...part }))).size, parts.length);
});

const comments: readonly (readonly [string, string, string])[] = [
  ["one", "one", ""],
  ["one\ntwo", "one", "two"],
  ["one\n\n\ntwo\n\nthree", "one", "two\n\nthree"],
  ["\ntwo", "", "two"],
  ["one\n", "one", ""],
];

Deno.test("splitComment() splits a comment after its first line", () => {
  deepStrictEqual(
    comments.map(([comment]) => [comment, ...Object.values(splitComment(comment))]),
    comments,
  );
  deepStrictEqual(summaryOf(null), {});
  deepStrictEqual(summaryOf("one\n"), { summary: "one" });
});

const names: readonly (readonly [string, string, string, string])[] = [
  ["task", "task", "task", "task"],
  ["a-b c", "a-b c", "a-b%20c", "a-b.20.c"],
  ["a - b", '"a - b"', "a%20-%20b", "a.20.-.20.b"],
  ["ä", "ä", "ä", ".e4."],
  ["a/b~c", '"a/b~c"', "a%2Fb~c", "a.2f.b.7e.c"],
  ["{a}", '"{a}"', "%7Ba%7D", ".7b.a.7d."],
  ['q"\\', '"q\\"\\\\"', "q%22%5C", "q.22..5c."],
  ["x.order", '"x.order"', "x.order", "x.2e.order"],
  ["select", '"select"', "select", "select"],
  ["😀", '"😀"', "😀", ".1f600."],
];

for (const [name, filter, segment, key] of names) {
  Deno.test(`queryName(), pathSegment() and componentKey() escape ${name}`, () => {
    deepStrictEqual([queryName(name), pathSegment(name), componentKey(name)], [
      filter,
      segment,
      key,
    ]);
  });
}

Deno.test("reference() escapes a JSON pointer in a fragment", () => {
  strictEqual(reference("definitions", "a/b~c d").$ref, "#/definitions/a~1b~0c%20d");
});

Deno.test("rowFilterKey() returns different keys for names with dots", () => {
  const pairs = [["a.b", "c"], ["a", "b.c"], ["a%2Eb", "c"], ["a", "b"]] as const;
  strictEqual(new Set(pairs.map(([r, c]) => rowFilterKey(r, c))).size, pairs.length);
  strictEqual(rowFilterKey("task", "id"), "rowFilter.task.id");
});

Deno.test("queryName() reads a long name in linear time", () => {
  for (const piece of ["a", "a "]) {
    const make = (count: number) => `${piece.repeat(count)}!`;
    assertLinearTime(`queryName of ${piece}`, { size: 50_000, make, run: queryName });
  }
});

Deno.test("createStore() makes each document once, and drops the least recently used", async () => {
  const made: string[] = [];
  const store = createStore(30);
  const get = (key: string) =>
    store.get(key, () => {
      made.push(key);
      const content = new Uint8Array(key === "e" ? 99 : 9);
      const { length } = content;
      return Promise.resolve({ keptBytes: length, length, tag: key, open: () => ({ content }) });
    });
  for (const key of ["a", "b", "a", "c", "a", "d", "a", "b"]) await get(key);
  deepStrictEqual(made, ["a", "b", "c", "d", "b"]);
  strictEqual((await get("e")).tag, "e");
});

Deno.test("createStore() makes one document at a time, for all that wait, and retries after an error", async () => {
  const store = createStore(1000);
  let running = 0;
  let made = 0;
  const make = async () => {
    strictEqual(++running, 1);
    await turn();
    running--;
    if (++made === 1) throw new Error("no");
    return await writeDocument(() => new ObjectMembers(() => [["n", made]]));
  };
  const results = await Promise.allSettled(
    ["a", "a", "b", "b", "c"].map((key) => store.get(key, make)),
  );
  deepStrictEqual(results.map(({ status }) => status === "rejected"), [
    true,
    true,
    false,
    false,
    false,
  ]);
  strictEqual(made, 3);
  strictEqual((await store.get("a", make)).tag.length, 33);
});

for (const write of [openApi2, openApi3]) {
  Deno.test(`writeDocument() writes a long document in slices: ${write.name}`, async () => {
    const columns = Array.from({ length: 12 }, (_, index) => `column_${index}`);
    const tables = Array.from({ length: 1000 }, (_, index) => table(`t${1000 + index}`, columns));
    const document = write(modelOf(tables), config);
    let others = 0;
    let isWritten = false;
    const loop = (async () => {
      for (; !isWritten; others++) await turn();
    })();
    const stored = await writeDocument(() => document, Infinity);
    isWritten = true;
    await loop;
    ok(others > 1, String(others));
    strictEqual(
      new TextDecoder().decode(stored.open().content as Uint8Array),
      JSON.stringify(document),
    );
  });
}

for (const write of [openApi2, openApi3]) {
  Deno.test(`writeDocument() keeps no bytes of a long document, and writes it as it is read: ${write.name}`, async () => {
    const columns = Array.from({ length: 12 }, (_, index) => `column_${index}`);
    const tables = Array.from({ length: 2000 }, (_, index) => table(`t${1000 + index}`, columns));
    const model = modelOf(tables);
    let made = 0;
    const counted = () =>
      write(
        { ...model, relations: model.relations.map((each) => countedColumns(each, () => made++)) },
        config,
      );
    const stored = await writeDocument(counted);
    const uses = made;
    strictEqual(stored.keptBytes, 0);
    ok(stored.length > 8_000_000, String(stored.length));
    strictEqual((await writeDocument(counted)).tag, stored.tag);
    made = 0;
    const { content, ended } = stored.open();
    await turn();
    strictEqual(made, 0);
    const reader = (content as ReadableStream<Uint8Array>).getReader();
    const chunks: Uint8Array<ArrayBuffer>[] = [];
    let written = 0;
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      const chunk = next.value as Uint8Array<ArrayBuffer>;
      ok(chunk.length < 256 * 1024, String(chunk.length));
      chunks.push(chunk);
      written += chunk.length;
      // A reader that waits here lets no more of the document be made than it has read, and a chunk.
      ok(made / uses < written / stored.length + 0.2, `${made} of ${uses} with ${written} bytes`);
      await turn();
    }
    await ended;
    strictEqual(await new Blob(chunks).text(), JSON.stringify(write(model, config)));
    strictEqual(written, stored.length);
    const left = stored.open();
    await (left.content as ReadableStream).cancel();
    await left.ended;
  });
}

/** Counts how often the columns of a relation are described. */
function countedColumns(described: DescribedRelation, count: () => void): DescribedRelation {
  return {
    ...described,
    get columns() {
      count();
      return described.columns;
    },
  };
}

function column(name: string): Column {
  return {
    name,
    comment: null,
    nullable: true,
    declaredType: "integer",
    baseType: "integer",
    maxLength: null,
    default: null,
    generated: false,
    enumLabels: [],
  };
}

function table(name: string, columns: readonly string[]): Relation {
  return {
    schema: "api",
    name,
    comment: null,
    isView: false,
    insertable: true,
    updatable: true,
    deletable: true,
    volatile: false,
    primaryKey: columns.slice(0, 1),
    columns: columns.map(column),
  };
}

function modelOf(relations: readonly Relation[], routines: readonly Routine[] = []) {
  const cache = indexSchemaCache({
    relations,
    relationships: [],
    routines,
    representations: [],
    mediaHandlers: [],
    volatileFunctions: [],
  });
  return buildModel({ schema: "api", metadata: { comment: null }, cache });
}

Deno.test("documents contain relations and columns named like members of Object", () => {
  const model = modelOf([
    table("__proto__", ["__proto__", "constructor"]),
    table("toString", []),
  ]);
  const two = JSON.stringify(openApi2(model, config));
  ok(two.includes('"/__proto__":'));
  ok(two.includes('"__proto__":{"type":"object","properties":{"__proto__":{"type":"integer"'));
  ok(JSON.stringify(openApi3(model, config)).includes('"/toString":'));
});

Deno.test("documents grow with the number of tables and no faster", () => {
  const columns = Array.from({ length: 12 }, (_, index) => `column_${index}`);
  const sizeOf = (write: typeof openApi2, count: number) => {
    const tables = Array.from({ length: count }, (_, index) => table(`t${1000 + index}`, columns));
    return JSON.stringify(write(modelOf(tables), config)).length;
  };
  for (const [write, perTable] of [[openApi2, 4800], [openApi3, 11_900]] as const) {
    const [few, many] = [sizeOf(write, 100), sizeOf(write, 500)];
    ok((many - few) / 400 < perTable, `${write.name}: ${(many - few) / 400}`);
    ok(many / few < 5);
  }
});

Deno.test("documents describe batches: OpenAPI 2.0 only if they are on", async () => {
  const model = modelOf([table("task", ["id"])]);
  for (const [batchMaxOperations, methods] of [[0, ["get"]], [5, ["get", "post"]]] as const) {
    const [two, three] = [openApi2, openApi3].map((write) =>
      JSON.parse(JSON.stringify(write(model, { ...config, batchMaxOperations })))
    );
    deepStrictEqual(Object.keys(two.paths["/"]), methods);
    deepStrictEqual(Object.keys(three.paths["/"]), ["get", "post"]);
    await validate(two);
    await validate(three);
  }
});

Deno.test("documents describe bookmarks where reads may go to standbys", async () => {
  const routine = (name: string, volatility: Routine["volatility"]): Routine => ({
    schema: "api",
    name,
    comment: null,
    parameters: [],
    returns: {
      set: false,
      composite: false,
      typeSchema: "pg_catalog",
      typeName: "int4",
      void: false,
      domain: null,
      relation: null,
    },
    volatility,
    isolation: null,
    settings: [],
  });
  const model = modelOf([table("task", ["id"])], [
    routine("f", "stable"),
    routine("g", "volatile"),
  ]);
  for (const bookmarkHeader of [undefined, "Svc-Bookmark"]) {
    const documents = [openApi2, openApi3].map((write) =>
      JSON.parse(
        JSON.stringify(write(model, { ...config, bookmarkHeader })),
      )
    );
    for (const document of documents) {
      const expected = ["/rpc/f get", "/rpc/f post", "/task get"];
      const isOn = bookmarkHeader !== undefined;
      deepStrictEqual(operationsWith(document, "bookmark"), isOn ? expected : []);
      strictEqual(JSON.stringify(document).includes("Bookmark"), isOn);
      await validate(document);
    }
    const [, { components }] = documents;
    const { description } = components.parameters["shared.preferRead"];
    strictEqual(description.includes("`read=primary`"), bookmarkHeader !== undefined);
  }
});

/** Lists the operations that refer to a parameter whose key ends so. */
// deno-lint-ignore no-explicit-any
function operationsWith({ paths }: any, key: string): readonly string[] {
  return Object.entries<Record<string, { parameters?: { $ref?: string }[] }>>(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { parameters = [] }]) => parameters.some(({ $ref }) => $ref?.endsWith(key)))
        .map(([method]) => `${path} ${method}`)
    ).sort();
}

Deno.test("validate() rejects an invalid document", async () => {
  const model = modelOf([table("task", ["id"])]);
  const [two, three] = [openApi2, openApi3].map((write) =>
    JSON.parse(JSON.stringify(write(model, config)))
  );
  await validate(two);
  await validate(three);
  await rejects(() => validate({ ...two, info: undefined }));
  await rejects(() => validate({ ...three, paths: { "/x": { get: { responses: "none" } } } }));
  await rejects(() => validate({ ...two, definitions: {} }));
});
