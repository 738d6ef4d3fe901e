import { strictEqual } from "node:assert/strict";
import type { ErrorFields } from "../../../../src/base/errors/service_error.ts";
import { adviceFor } from "../../../../src/api/response/advice.ts";
import { requestAdvice } from "../../../../src/api/response/request_advice.ts";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";
import { nameText } from "../../../../src/base/sql/name_text.ts";
import type { AdviceContext } from "../../../../src/api/response/advice_context.ts";

const config: AdviceContext["config"] = {
  dbReadOnly: false,
  dbSchemas: ["api"],
  dbSchemaWatch: "notify",
  dbUri: "postgres://localhost/shop",
  dbPlanEnabled: false,
};

function advice(
  line: string,
  fields: Partial<ErrorFields>,
  context: Partial<AdviceContext> = {},
): string | null {
  const [method = "", target = ""] = line.split(" ");
  const [path = "", query = ""] = target.split("?");
  return adviceFor({ code: "42501", own: false, status: 400, message: "", ...fields }, {
    pieces: { method, path, query, headers: {}, cookies: {} },
    role: "anon",
    config,
    ...context,
  });
}

const readOnly = "cannot execute INSERT in a read-only transaction";
const recovery = "cannot set transaction read-write mode during recovery";

const rows:
  readonly (readonly [line: string, fields: Partial<ErrorFields>, hint: string | null])[] = [
    ["POST /film", { code: "25006", message: readOnly }, "The server is a standby."],
    ["POST /film", { code: "0A000", message: recovery }, "The server is a standby."],
    ["POST /film", { code: "0A000", message: "no" }, null],
    ["POST /film", { code: "25006", message: "no" }, null],
    [
      "GET /film",
      { message: "permission denied for table user" },
      'Grant anon the privileges on "user" that views, functions or triggers of the request use',
    ],
    [
      "POST /film",
      { message: "permission denied for sequence numbers" },
      "Grant anon USAGE on the sequence numbers",
    ],
    [
      "POST /film",
      { message: "permission denied for sequence film_id_seq" },
      "grant usage on sequence api.film_id_seq to anon;",
    ],
    ["GET /film", { message: "permission denied for table film", hint: "x" }, null],
    ["GET /film", { message: "permission denied for table film", hint: "" }, null],
    ["GET /film", { message: "permission denied for database shop" }, null],
    [
      "GET /film",
      { message: 'permission denied to set role "postgres"' },
      "Send a token of another role than postgres",
    ],
    ["GET /film", { code: "22023", message: 'role "pg_new" does not exist' }, null],
    ["GET /film", { code: "22023", message: 'invalid value for parameter "TimeZone"' }, null],
    ["GET /film", { code: "301", own: true, message: "x" }, null],
    ["GET /film", { code: "123", message: "raised by a function" }, null],
  ];

for (const [line, fields, hint] of rows) {
  Deno.test(`adviceFor() is ${hint} for ${line} ${JSON.stringify(fields)}`, () => {
    strictEqual(advice(line, fields), hint);
  });
}

Deno.test("adviceFor() names no role before authentication", () => {
  const fields = { message: "permission denied for table film" };
  strictEqual(advice("GET /film", fields, { role: null }), null);
});

Deno.test("adviceFor() cuts what a client sent", () => {
  const message = `"failed to parse filter (${"x".repeat(2000)})" (line 1, column 1)`;
  const hint = advice(`GET /film?id=${"x".repeat(2000)}`, { code: "100", own: true, message });
  strictEqual(hint?.length, 1001);
});

const names: readonly (readonly [names: readonly string[], text: string])[] = [
  [["film"], "film"],
  [["api", "film"], "api.film"],
  [["user"], '"user"'],
  [["Film"], '"Film"'],
  [['a"b; drop', "t"], '"a""b; drop".t'],
  [["é"], '"é"'],
  [["1a"], '"1a"'],
  [[""], '""'],
];

for (const [parts, text] of names) {
  Deno.test(`nameText(${parts.join()}) is ${text}`, () => strictEqual(nameText(...parts), text));
}

Deno.test("adviceFor() names db-read-only where that refuses a write", () => {
  const context = { config: { ...config, dbReadOnly: true } };
  const facts = { code: "25006", message: readOnly };
  for (const line of ["POST /film", "POST /rpc/add", "GET /rpc/add"]) {
    strictEqual(advice(line, facts, context), "The service is read only (db-read-only).");
  }
});

Deno.test("requestAdvice() reads a long name of a parameter in linear time", () => {
  const cache = { relations: [{ schema: "api", name: "film", columns: [{ name: "id" }] }] };
  const run = (name: string) => {
    const fields = { code: "100", own: true, message: '"failed to parse filter (x)" (line 1)' };
    const pieces = { method: "GET", path: "/film", query: `${name}=x`, headers: {}, cookies: {} };
    return requestAdvice(
      fields as ErrorFields,
      { pieces, role: "anon", config, cache } as unknown as AdviceContext,
    );
  };
  strictEqual(run("id__gt"), "Write id=gt.x");
  strictEqual(run("id[gt]"), "Write id=gt.x");
  const make = (length: number) => `${"_".repeat(length)}!`;
  assertLinearTime("requestAdvice of underscores", { size: 32_000, make, run });
});
