import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { svcDialect } from "../../../src/dialect.ts";
import { ServiceError } from "../../../src/errors/service_error.ts";
import { planCall } from "../../../src/plan/call_plan.ts";
import type { ApiRequest, Payload } from "../../../src/request/api_request.ts";
import { noPreconditions } from "../../../src/request/preconditions.ts";
import { indexSchemaCache } from "../../../src/schema_cache/lookups.ts";
import type { Parameter, Routine } from "../../../src/schema_cache/schema_cache.ts";

type ParameterFacts = Partial<Parameter> & Pick<Parameter, "name">;

function routine(name: string, parameters: readonly ParameterFacts[]): Routine {
  return {
    schema: "api",
    name,
    comment: null,
    parameters: parameters.map((facts) => ({
      type: "integer",
      callType: facts.type ?? "integer",
      required: true,
      variadic: false,
      ...facts,
    })),
    returns: {
      set: false,
      composite: false,
      typeSchema: "pg_catalog",
      typeName: "int4",
      void: false,
      domain: null,
      relation: null,
    },
    volatility: "volatile",
    hasVariadic: parameters.some(({ variadic }) => variadic === true),
    isolation: null,
    settings: [],
  };
}

const unnamed = (type: string): ParameterFacts => ({ name: "", type });
const optional = (name: string): ParameterFacts => ({ name, required: false });
const optionalUnnamed = (type: string): ParameterFacts => ({ ...unnamed(type), required: false });

const cache = indexSchemaCache({
  relations: [],
  relationships: [],
  routines: [
    routine("f", []),
    routine("f", [unnamed("json")]),
    routine("f", [unnamed("text")]),
    routine("f", [unnamed("bytea")]),
    routine("f", [{ name: "x" }, { name: "y" }]),
    routine("g", [unnamed("json")]),
    routine("g", [unnamed("jsonb")]),
    routine("lone", [unnamed("text")]),
    routine("spare", []),
    routine("spare", [optionalUnnamed("text")]),
    routine("either", [optionalUnnamed("text")]),
    routine("either", [optionalUnnamed("json")]),
    routine("beside", [optionalUnnamed("json"), optional("a")]),
    routine("sayhello", [{ name: "name" }]),
    routine("add_them", [{ name: "a" }, { name: "b" }]),
    routine("named_json", [{ name: "data", type: "json" }]),
    routine("optional", [optional("a"), optional("b")]),
    routine("mixed", [{ name: "a" }, optional("b")]),
    routine("conv", [{ name: "arg" }]),
    routine("conv", [{ name: "arg", type: "xml" }]),
    routine("conv", [{ name: "arg", type: "text" }, optional("num")]),
    routine("plus", [{ name: "v", type: "integer[]", required: false, variadic: true }]),
  ],
  representations: [],
  mediaHandlers: [],
  volatileFunctions: [],
});

const config = {
  dbMaxRows: null,
  dbSchemas: ["api"],
  dbUrlFunctions: ["*"],
  dbAggregatesEnabled: false,
  dialect: svcDialect,
  urlUseLegacyTargetNames: true,
};

function json(keys: readonly string[], text = "{}"): Payload {
  const bytes = new TextEncoder().encode(text);
  return { kind: "json", text: bytes, shape: "object", keys, moreKeys: 0, source: "json" };
}

function raw(type: "text" | "xml" | "bytea"): Payload {
  return { kind: "raw", type, bytes: new Uint8Array([1]) };
}

interface Call {
  readonly name: string;
  readonly method?: "GET" | "POST";
  readonly values?: readonly (readonly [string, string])[];
  readonly payload?: Payload;
}

function call({ name, method = "GET", values = [], payload }: Call) {
  const action = { kind: "call", routine: name, method } as const;
  const request: ApiRequest = {
    method,
    path: `/rpc/${name}`,
    queryString: "",
    action,
    schema: "api",
    schemaNegotiated: false,
    query: {
      select: [],
      defaultSelect: true,
      filters: [],
      filterNames: [],
      logic: [],
      order: [],
      limits: [],
      limit: null,
      offset: null,
      hasLimits: false,
      columns: null,
      columnTree: null,
      levelConflicts: [],
      onConflict: null,
      conflictIndex: null,
      conflictColumns: null,
      conflictWhere: null,
      on: null,
      clauses: [],
      texts: new Map(),
      callArguments: values,
      canonical: "",
    },
    bounds: { first: 0n, last: null },
    preferences: {
      resolution: null,
      return: null,
      count: null,
      tx: null,
      missing: null,
      handling: null,
      timezone: null,
      maxAffected: null,
      unmatched: null,
      numbers: null,
      read: null,
      invalid: [],
    },
    preconditions: noPreconditions,
    accept: [],
    payload: payload ?? null,
    headers: {},
    cookies: {},
  };
  return planCall(request, action, cache, config);
}

const chosen: readonly [string, Call, string][] = [
  ["GET without arguments", { name: "f" }, "f()"],
  ["POST {} ", { name: "f", method: "POST", payload: json([]) }, "f()"],
  ["POST with all names", { name: "f", method: "POST", payload: json(["x", "y"]) }, "f(x,y)"],
  ["POST with other names", { name: "f", method: "POST", payload: json(["A"]) }, "f(:json)"],
  ["POST text", { name: "f", method: "POST", payload: raw("text") }, "f(:text)"],
  ["POST bytes", { name: "f", method: "POST", payload: raw("bytea") }, "f(:bytea)"],
  [
    "POST with the empty name",
    { name: "lone", method: "POST", payload: json([""]) },
    "lone(:text)",
  ],
  ["POST text of an optional type", {
    name: "either",
    method: "POST",
    payload: raw("text"),
  }, "either(:text)"],
  [
    "POST text beside none",
    { name: "spare", method: "POST", payload: raw("text") },
    "spare(:text)",
  ],
  ["unnamed, left out", { name: "beside", values: [["a", "1"]] }, "beside(:json,a)"],
  ["only optional, none given", { name: "optional" }, "optional(a,b)"],
  ["only optional, one given", { name: "optional", values: [["b", "1"]] }, "optional(a,b)"],
  ["required and optional", { name: "mixed", values: [["a", "1"]] }, "mixed(a,b)"],
  ["all of them", { name: "mixed", values: [["b", "1"], ["a", "1"]] }, "mixed(a,b)"],
  [
    "one overload by its names",
    { name: "conv", values: [["arg", "1"], ["num", "2"]] },
    "conv(arg,num)",
  ],
];

function shown({ name, parameters }: Routine): string {
  return `${name}(${parameters.map((p) => p.name === "" ? `:${p.type}` : p.name).join(",")})`;
}

Deno.test("planCall() chooses the overload that the arguments name", async (t) => {
  for (const [title, request, expected] of chosen) {
    await t.step(title, () => strictEqual(shown(call(request).routine), expected));
  }
});

Deno.test("planCall() collects repeated values of a variadic parameter only", () => {
  deepStrictEqual(
    call({ name: "plus", values: [["v", "1"], ["v", "2"]] }).arguments,
    {
      kind: "values",
      values: [{
        parameter: {
          name: "v",
          type: "integer[]",
          callType: "integer[]",
          required: false,
          variadic: true,
        },
        values: ["1", "2"],
      }],
    },
  );
  const { arguments: single } = call({ name: "mixed", values: [["a", "1"], ["a", "2"]] });
  deepStrictEqual(single.kind === "values" && single.values.map(({ values }) => values), [["2"]]);
});

const hello = "api.sayhello";
const refused: readonly [Call, string, string, string | null, string | null][] = [
  [
    { name: "sayhell" },
    "202",
    "Could not find the function api.sayhell without parameters in the schema cache",
    "Searched for the function api.sayhell without parameters, but no matches were found in the schema cache.",
    "Perhaps you meant to call the function api.sayhello",
  ],
  [
    { name: "sayhello", values: [["nam", "Peter"]] },
    "202",
    `Could not find the function ${hello}(nam) in the schema cache`,
    `Searched for the function ${hello} with parameter nam, but no matches were found in the schema cache.`,
    `Perhaps you meant to call the function ${hello}(name)`,
  ],
  [
    { name: "add_them", values: [["smthelse", "x"], ["b", "2"], ["a", "1"]] },
    "202",
    "Could not find the function api.add_them(a, b, smthelse) in the schema cache",
    "Searched for the function api.add_them with parameters a, b, smthelse, but no matches were found in the schema cache.",
    "Perhaps you meant to call the function api.add_them(a, b)",
  ],
  [
    { name: "no_such", method: "POST", payload: raw("text") },
    "202",
    "Could not find the function api.no_such in the schema cache",
    "Searched for the function api.no_such with a single unnamed text parameter, but no matches were found in the schema cache.",
    null,
  ],
  [
    { name: "named_json", method: "POST", payload: json(["A", "B"]) },
    "202",
    "Could not find the function api.named_json(A, B) in the schema cache",
    "Searched for the function api.named_json with parameters A, B or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.",
    null,
  ],
  [
    { name: "conv", values: [["arg", "1"]] },
    "203",
    "Could not choose the best candidate function between: api.conv(arg => integer), api.conv(arg => xml), api.conv(arg => text, num => integer)",
    null,
    "Try renaming the parameters or the function itself in the database so function overloading can be resolved",
  ],
  ...([
    ["f", json([""]), " => json), api.f( => text), api.f( => bytea)"],
    ["spare", json([]), "), api.spare( => text)"],
    ["spare", undefined, "), api.spare( => text)"],
    ["either", json([]), " => text), api.either( => json)"],
  ] as const).map(([name, payload, list]): (typeof refused)[number] => [
    { name, method: payload === undefined ? "GET" : "POST", payload },
    "203",
    `Could not choose the best candidate function between: api.${name}(${list}`,
    null,
    "Try renaming the parameters or the function itself in the database so function overloading can be resolved",
  ]),
  [
    { name: "beside", method: "POST", payload: json(["", "a"]) },
    "202",
    "Could not find the function api.beside(, a) in the schema cache",
    "Searched for the function api.beside with parameters , a or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.",
    null,
  ],
  [
    { name: "g", method: "POST", payload: json(["A"]) },
    "203",
    "Could not choose the best candidate function between: api.g( => json), api.g( => jsonb)",
    null,
    "Try renaming the parameters or the function itself in the database so function overloading can be resolved",
  ],
];

Deno.test("planCall() reports the searched function and a similar one", async (t) => {
  for (const [request, code, message, details, hint] of refused) {
    await t.step(`${code} ${request.method ?? "GET"} ${message}`, () => {
      const error = errorOf(() => call(request));
      deepStrictEqual(
        [
          error.fields.code,
          error.fields.message,
          error.fields.details ?? null,
          error.fields.hint ?? null,
        ],
        [code, message, details, hint],
      );
    });
  }
});

function errorOf(run: () => unknown): ServiceError {
  try {
    run();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("nothing was raised");
}
