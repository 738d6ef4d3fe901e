import { deepStrictEqual } from "node:assert/strict";
import type { Payload, PayloadUse } from "../../../../src/api/request/body/body_decoder.ts";
import { payloadReader } from "../../../../src/api/request/body/payload.ts";
import { decodeInChunks } from "../../../support/clients/in_chunks.ts";
import { refusalOf } from "../../../support/handler/refusal.ts";

const encoder = new TextEncoder();

interface Given {
  readonly type?: string | null;
  readonly takes?: PayloadUse;
  readonly columnsGiven?: boolean;
}

function read(
  body: string | Uint8Array,
  { type = null, takes = "rows", columnsGiven = false }: Given = {},
): Payload {
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  const decoder = payloadReader({ contentType: type, takes, columnsGiven }).begin(() => {});
  return decoder.payload(decodeInChunks(decoder, bytes, 3));
}

/** A payload with its bytes as text. */
function shown(payload: Payload): object {
  const text = (bytes: Uint8Array) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  switch (payload.kind) {
    case "json":
    case "patch":
      return { ...payload, text: text(payload.text) };
    case "raw":
      return { ...payload, bytes: text(payload.bytes) };
    case "form":
      return payload;
    default:
      return payload satisfies never;
  }
}

const uses: readonly PayloadUse[] = ["rows", "arguments"];

function invalid(message: string) {
  return { code: "102", status: 400, message };
}

Deno.test("payloadReader hands JSON on as it is", () => {
  const rows: [body: string, text: string, shape: "object" | "array", keys: string[]][] = [
    ['{"b":1,"a":2}', '{"b":1,"a":2}', "object", ["a", "b"]],
    [' [{"a": 1, "a": 2}]\n', ' [{"a": 1, "a": 2}]\n', "array", ["a"]],
    ['\ufeff{"a":"\\u0000"}', '{"a":"\\u0000"}', "object", ["a"]],
    ["{}", "{}", "object", []],
    ["[{},{}]", "[{},{}]", "array", []],
    ["[]", "[]", "array", []],
  ];
  for (const takes of uses) {
    for (const [body, text, shape, keys] of rows) {
      const payload = { kind: "json", source: "json", text, shape, keys, moreKeys: 0 };
      deepStrictEqual(shown(read(body, { takes })), payload, body);
    }
  }
});

Deno.test("payloadReader keeps any value of a call, and reads a scalar as no rows", () => {
  const common = { kind: "json", source: "json", shape: "array", keys: [], moreKeys: 0 };
  const values: [body: string, value: "scalar" | "mixed"][] = [
    [" 5 ", "scalar"],
    ["null", "scalar"],
    ['"[1]"', "scalar"],
    ["[1,2]", "mixed"],
    ['[{"a":1},{"b":1}]', "mixed"],
    ["[[]]", "mixed"],
  ];
  for (const [text, value] of values) {
    deepStrictEqual(shown(read(text, { takes: "arguments" })), { ...common, text, value });
    if (value === "scalar") deepStrictEqual(shown(read(text)), { ...common, text: "[]" });
  }
});

Deno.test("payloadReader rejects JSON other than rows", () => {
  const rows: [body: string | Uint8Array, message: string][] = [
    ["{", "Empty or invalid json"],
    [" ", "Empty or invalid json"],
    ["{}{}", "Empty or invalid json"],
    ["\ufeff\ufeff{}", "Empty or invalid json"],
    ['{"a":"\0"}', "Empty or invalid json"],
    [Uint8Array.from([0x22, 0xff, 0x22]), "Empty or invalid json"],
    ["[1,2]", "All object keys must match"],
    ['[{"a":1},{"b":1}]', "All object keys must match"],
  ];
  for (const takes of uses) {
    for (const [body, message] of rows) {
      if (takes === "arguments" && message === "All object keys must match") continue;
      deepStrictEqual(refusalOf(() => read(body, { takes })), invalid(message), String(body));
    }
  }
  deepStrictEqual(refusalOf(() => read("")), invalid("Empty or invalid json"));
});

Deno.test("payloadReader reads a call with a byte order mark alone as one without arguments", () => {
  const payload = { kind: "json", source: "json", text: "{}", shape: "object", moreKeys: 0 };
  for (const type of ["application/json", "application/x-ndjson"]) {
    deepStrictEqual(shown(read("\ufeff", { type, takes: "arguments" })), { ...payload, keys: [] });
  }
  const columns = { takes: "arguments", columnsGiven: true } as const;
  deepStrictEqual(shown(read("\ufeff", columns)), { ...payload, keys: null });
});

Deno.test("payloadReader does not look into JSON when columns are given", () => {
  const rows: [body: string, shape: "object" | "array"][] = [
    ['{"a":1}', "object"],
    [' {"a"', "object"],
    ['[{"a":1},{"b":1}]', "array"],
    ["[1]", "array"],
    ["5", "array"],
    ["oops", "array"],
  ];
  for (const takes of uses) {
    for (const [body, shape] of rows) {
      const rest = { keys: null, moreKeys: 0 };
      const payload = { kind: "json", source: "json", text: body, shape, ...rest };
      deepStrictEqual(shown(read(body, { takes, columnsGiven: true })), payload, body);
    }
  }
  deepStrictEqual(shown(read("\ufeff", { columnsGiven: true })), {
    kind: "json",
    source: "json",
    text: "",
    shape: "array",
    keys: null,
    moreKeys: 0,
  });
});

Deno.test("payloadReader reads CSV and forms, whatever columns are given", () => {
  for (const takes of uses) {
    for (const columnsGiven of [false, true]) {
      const given = { takes, columnsGiven };
      deepStrictEqual(shown(read("\ufeffb,a\n1,NULL\n", { type: "text/csv", ...given })), {
        kind: "json",
        source: "csv",
        text: '[{"b":"1","a":null}]',
        shape: "array",
        keys: ["a", "b"],
        moreKeys: 0,
      });
      const form = "application/x-www-form-urlencoded";
      const names = { keys: ["a", "b"], moreKeys: 0 };
      deepStrictEqual(
        shown(read("a=1&b=x+y&a=%C3%A9", { type: form, ...given })),
        takes === "arguments"
          ? { kind: "form", fields: [["a", "1"], ["b", "x y"], ["a", "é"]], ...names }
          : {
            kind: "json",
            source: "form",
            text: '{"a":"1","b":"x y","a":"é"}',
            shape: "object",
            ...names,
          },
      );
    }
  }
});

Deno.test("payloadReader takes raw bodies for functions", () => {
  const rows: [type: string, kind: "text" | "xml" | "bytea"][] = [
    ["text/plain; charset=utf-8", "text"],
    ["text/xml", "xml"],
    ["application/octet-stream", "bytea"],
  ];
  for (const [type, kind] of rows) {
    for (const body of ["", "\ufeff<é/>"]) {
      deepStrictEqual(shown(read(body, { type, takes: "arguments" })), {
        kind: "raw",
        type: kind,
        bytes: body,
      });
    }
  }
  const bytes = Uint8Array.from([0, 0xff, 0xc3]);
  const octets = { type: "application/octet-stream", takes: "arguments" } as const;
  deepStrictEqual(read(bytes, octets), { kind: "raw", type: "bytea", bytes });
  for (const type of ["text/plain", "text/xml"]) {
    const given = { type, takes: "arguments" } as const;
    const refusal = refusalOf(() => read(Uint8Array.from([0xff]), given));
    deepStrictEqual(refusal, invalid("The body is not UTF-8 text"));
    deepStrictEqual(
      refusalOf(() => read("\0", given)),
      invalid("The body holds the character NUL"),
    );
  }
});

Deno.test("payloadReader understands content types in any spelling", () => {
  const types = [
    null,
    "",
    "application/json",
    "Application/JSON; Charset=UTF-8",
    "application/json;;rubbish",
    " application/json ",
  ];
  for (const type of types) {
    deepStrictEqual(shown(read('{"a":1}', { type })), shown(read('{"a":1}')), String(type));
  }
});
