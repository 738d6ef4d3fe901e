import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { svcDialect } from "../../../../src/base/dialect.ts";
import { databaseFailureToError } from "../../../../src/base/errors/sqlstate.ts";

const goodMessage = '{"code":"123","message":"ABC","details":"DEF","hint":"XYZ"}';
const goodDetail = '{"status":332,"status_text":"My Custom Status","headers":{"X-Header":"str"}}';

function raise(message: string, detail: string | null, sqlstate = "SVC00") {
  const failure = { sqlstate, message, detail, hint: "the error's own hint" };
  return databaseFailureToError(failure, { authenticated: false, dialect: svcDialect }).fields;
}

Deno.test("a full-control state answers with what its JSON says", () => {
  for (const sqlstate of ["SVC00", "PGRST"]) {
    deepStrictEqual(raise(goodMessage, goodDetail, sqlstate), {
      code: "123",
      own: false,
      status: 332,
      statusText: "My Custom Status",
      message: "ABC",
      details: "DEF",
      hint: "XYZ",
      headers: [["X-Header", "str"]],
    });
  }
});

Deno.test("a full-control state takes these messages", () => {
  const rows: [message: string, details: string | null, hint: string | null][] = [
    ['{"code":"1","message":"m"}', null, null],
    ['{"code":"1","message":"m","details":null,"hint":null}', null, null],
    ['{"code":"1","message":"m","details":"d","other":5}', "d", null],
    [' {"message":"m","hint":"h","code":"1"} ', null, "h"],
  ];
  for (const [message, details, hint] of rows) {
    const fields = raise(message, goodDetail);
    deepStrictEqual(
      [fields.code, fields.message, fields.details, fields.hint],
      ["1", "m", details, hint],
    );
  }
});

Deno.test("a full-control state takes these details", () => {
  type Facts = ReturnType<typeof raise>;
  const rows: [detail: string, status: number, headers: Facts["headers"], statusText?: string][] = [
    ['{"status":404,"headers":{}}', 404, []],
    ['{"status":404.0,"headers":{}}', 404, []],
    ['{"status":4.04e2,"headers":{},"status_text":null}', 404, []],
    ['{"status":401,"headers":{"WWW-Authenticate":"Basic"}}', 401, [["WWW-Authenticate", "Basic"]]],
    ['{"status":401,"headers":{}}', 401, []],
    ['{"status":419,"headers":{},"status_text":"a\\r\\nX: b"}', 419, [], "a X: b"],
    ['{"status":200,"headers":{"a":"ž","b":""}}', 200, [["a", "\xc5\xbe"], ["b", ""]]],
    ['{"status":600,"headers":{},"status_text":"Own"}', 500, []],
    ['{"status":100,"headers":{}}', 500, []],
    ['{"status":-5,"headers":{}}', 500, []],
    ['{"status":1e300,"headers":{}}', 500, []],
  ];
  for (const [detail, status, headers, statusText] of rows) {
    const fields = raise(goodMessage, detail);
    deepStrictEqual([fields.status, fields.headers, fields.statusText], [
      status,
      headers,
      statusText,
    ]);
    strictEqual(fields.code, "123", detail);
  }
});

const messageHint = "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and " +
  "optional keys: 'details', 'hint'.";
const detailHint = "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and " +
  "optional key: 'status_text'.";

function expectInvalid(fields: ReturnType<typeof raise>, details: string, hint: string): void {
  deepStrictEqual(fields, {
    code: "121",
    own: true,
    status: 400,
    variant: "raise",
    message: "Could not parse JSON in the \"RAISE SQLSTATE 'SVC'\" error",
    details,
    hint,
  });
}

Deno.test("a full-control state rejects other messages before it looks at the detail", () => {
  const messages = [
    ...["", "text", "null", "5", "[]", '"text"', "{", "{}", '{"code":"1"}', '{"message":"m"}'],
    ...['{"code":1,"message":"m"}', '{"code":"1","message":null}', '{"code":"1","message":{}}'],
    ...['{"code":"1","message":"m","details":5}', '{"code":"1","message":"m","hint":[]}'],
    '[{"code":"1","message":"m"}]',
  ];
  for (const message of messages) {
    for (const detail of [goodDetail, null, "{"]) {
      expectInvalid(
        raise(message, detail),
        `Invalid JSON value for MESSAGE: '${message}'`,
        messageHint,
      );
    }
  }
});

Deno.test("a full-control state rejects other details", () => {
  expectInvalid(raise(goodMessage, null), "DETAIL is missing in the RAISE statement", detailHint);
  const details = [
    ...["", "text", "null", "[]", "{}", '{"status":404}', '{"headers":{}}'],
    ...['{"status":"404","headers":{}}', '{"status":404.5,"headers":{}}'],
    ...['{"status":null,"headers":{}}', '{"status":1e400,"headers":{}}'],
    ...['{"status":404,"headers":null}', '{"status":404,"headers":[]}'],
    ...['{"status":404,"headers":"X: y"}', '{"status":404,"headers":{"X":5}}'],
    ...['{"status":404,"headers":{"X":null}}', '{"status":404,"headers":{},"status_text":5}'],
    ...['{"status":404,"headers":{"X Y":"z"}}', '{"status":404,"headers":{"":"z"}}'],
    ...[
      '{"status":404,"headers":{"X":"a\\r\\nY: b"}}',
      '{"status":404,"headers":{"X\\r\\nY":"b"}}',
    ],
    ...['{"status":404,"headers":{"X":"a\\u0000"}}', '{"status":404,"headers":{"X:":"b"}}'],
  ];
  for (const detail of details) {
    expectInvalid(
      raise(goodMessage, detail),
      `Invalid JSON value for DETAIL: '${detail}'`,
      detailHint,
    );
  }
});
