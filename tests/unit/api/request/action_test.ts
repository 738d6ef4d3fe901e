import { deepStrictEqual } from "node:assert/strict";
import { type ActionConfig, chooseAction, readPath } from "../../../../src/api/request/action.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";

const config: ActionConfig = { dbRootSpec: null, openapiMode: "follow-privileges" };
const relation = (name: string) => ({ kind: "relation", relation: name });
const routine = (name: string) => ({ kind: "routine", routine: name });

Deno.test("readPath reads the root, relations and functions", () => {
  const rows: [path: string, resource: object][] = [
    ["/", { kind: "root" }],
    ["/items", relation("items")],
    ["/Items", relation("Items")],
    ["/rpc", relation("rpc")],
    ["/rpc/f", routine("f")],
    ["/rpc/", routine("")],
    ["/%72pc/f", routine("f")],
    ["/RPC", relation("RPC")],
    ["/rpc/report.html", routine("report.html")],
    ["/Unit%20Price", relation("Unit Price")],
    ["/a+b", relation("a+b")],
    ["/a%2Fb", relation("a/b")],
    ["/rpc%2Ff", relation("rpc/f")],
    ["/%C3%A9", relation("é")],
    ["/é", relation("é")],
    ["/100%", relation("100%")],
    ["/%zz%41", relation("%zzA")],
    ["/..", relation("..")],
    ["/*", relation("*")],
    ["/constructor", relation("constructor")],
  ];
  for (const [path, resource] of rows) deepStrictEqual(readPath(path, config), resource, path);
});

Deno.test("readPath refuses other paths", () => {
  const paths = [
    "//",
    "/items/",
    "/items/1",
    "/rpc/a/",
    "/rpc/a/b",
    "//rpc/a",
    "/RPC/f",
    "/a/b/c",
    "",
    "*",
    "/%FF",
    "/rpc/%C3",
    "/a%00",
    "/%ED%A0%80",
  ];
  for (const path of paths) {
    deepStrictEqual(refusalOf(() => readPath(path, config)), {
      code: "125",
      status: 404,
      message: "Invalid path specified in request URL",
    }, path);
  }
});

Deno.test("readPath follows the configuration at the root alone", () => {
  const spec: ActionConfig = { ...config, dbRootSpec: { name: "root" } };
  deepStrictEqual(readPath("/", spec), routine("root"));
  deepStrictEqual(readPath("/items", spec), relation("items"));
  for (const base of [config, spec]) {
    const disabled: ActionConfig = { ...base, openapiMode: "disabled" };
    deepStrictEqual(refusalOf(() => readPath("/", disabled)), {
      code: "126",
      status: 404,
      message: "Root endpoint metadata is disabled",
    });
    deepStrictEqual(readPath("/items", disabled), relation("items"));
  }
});

Deno.test("chooseAction reads methods by the kind of their path", () => {
  const items = { kind: "relation", relation: "items" } as const;
  const f = { kind: "routine", routine: "f" } as const;
  const root = { kind: "root" } as const;
  const rows: [resource: typeof items | typeof f | typeof root, method: string, action: object][] =
    [
      [items, "GET", { kind: "read", relation: "items", headersOnly: false }],
      [items, "HEAD", { kind: "read", relation: "items", headersOnly: true }],
      [items, "POST", { kind: "insert", relation: "items" }],
      [items, "PATCH", { kind: "update", relation: "items" }],
      [items, "PUT", { kind: "put", relation: "items" }],
      [items, "DELETE", { kind: "delete", relation: "items" }],
      [items, "OPTIONS", { kind: "options", target: items }],
      [f, "GET", { kind: "call", routine: "f", method: "GET" }],
      [f, "HEAD", { kind: "call", routine: "f", method: "HEAD" }],
      [f, "POST", { kind: "call", routine: "f", method: "POST" }],
      [f, "OPTIONS", { kind: "options", target: f }],
      [root, "GET", { kind: "root", headersOnly: false }],
      [root, "HEAD", { kind: "root", headersOnly: true }],
      [root, "OPTIONS", { kind: "options", target: root }],
    ];
  for (const [resource, method, action] of rows) {
    deepStrictEqual(chooseAction(resource, { method }), action, `${method} ${resource.kind}`);
  }
});

Deno.test("chooseAction refuses other methods", () => {
  for (const method of ["TRACE", "get", "CONNECT", "FOO", "constructor", "QUERY"]) {
    deepStrictEqual(
      refusalOf(() => chooseAction({ kind: "relation", relation: "items" }, { method })),
      { code: "117", status: 405, message: `Unsupported HTTP method: ${method}` },
    );
  }
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "TRACE", "QUERY"]) {
    deepStrictEqual(refusalOf(() => chooseAction({ kind: "root" }, { method })), {
      code: "117",
      status: 405,
      message: `Unsupported HTTP method: ${method}`,
    });
  }
  for (const method of ["PUT", "PATCH", "DELETE", "TRACE", "post", "QUERY"]) {
    deepStrictEqual(refusalOf(() => chooseAction({ kind: "routine", routine: "f" }, { method })), {
      code: "101",
      status: 405,
      message: `Cannot use the ${method} method on RPC`,
    });
  }
});
