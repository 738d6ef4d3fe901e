import { strictEqual } from "node:assert/strict";
import type { ErrorFields, ErrorSubject } from "../../../../src/base/errors/service_error.ts";
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
    raw: { method, path, query, headers: {}, cookies: {} },
    role: "anon",
    config,
    ...context,
  });
}

/** The messages are not English, so that no hint can depend on them. */
function raised(code: string, routine: string, subject: ErrorSubject = {}): Partial<ErrorFields> {
  return { code, message: "keine Berechtigung", subject: { routine, ...subject } };
}

const rows:
  readonly (readonly [line: string, fields: Partial<ErrorFields>, hint: string | null])[] = [
    ["POST /film", raised("25006", "PreventCommandIfReadOnly"), "The server is a standby."],
    ["POST /film", raised("25006", "PreventCommandDuringRecovery"), "The server is a standby."],
    ["POST /film", raised("0A000", "call_bool_check_hook"), "The server is a standby."],
    [
      "POST /rpc/add",
      raised("0A000", "_SPI_execute_plan"),
      "The function writes: declare it volatile.",
    ],
    ["POST /film", raised("0A000", "exec_stmt_raise"), null],
    ["POST /film", raised("25006", "exec_stmt_raise"), null],
    ["POST /film", { code: "25006", message: "a pooler names no routine" }, null],
    [
      "GET /film",
      raised("42501", "aclcheck_error", { names: ["hidden", "log"] }),
      "grant usage on schema hidden to anon;",
    ],
    [
      "GET /film",
      raised("42501", "aclcheck_error", { isNested: true }),
      "Grant anon the privilege: a function or a trigger of the request uses it",
    ],
    ["GET /film", raised("42501", "aclcheck_error", { names: ["log"] }), null],
    ["POST /film", raised("42501", "nextval_internal"), "Grant anon USAGE on the sequence"],
    ["GET /film", { ...raised("42501", "aclcheck_error"), hint: "x" }, null],
    ["GET /film", { ...raised("42501", "aclcheck_error"), hint: "" }, null],
    ["GET /film", raised("42501", "exec_stmt_raise"), null],
    ["GET /film", raised("42501", "must_be_owner"), null],
    [
      "GET /film",
      raised("42501", "call_string_check_hook"),
      "Grant anon to the login role, unless it is a superuser",
    ],
    ["GET /film", raised("42501", "call_string_check_hook", { isNested: true }), null],
    [
      "POST /film",
      raised("42501", "ExecWithCheckOptions", { isNested: true }),
      "A policy on the table with check (…) must allow the row; a representation needs a select " +
      "policy, too.",
    ],
    [
      "GET /film",
      raised("22023", "call_string_check_hook"),
      "create role anon nologin; then grant it to the login role",
    ],
    ["GET /film", raised("22023", "call_string_check_hook", { isNested: true }), null],
    ["GET /film", raised("22023", "exec_stmt_raise"), null],
    ["GET /film", raised("XX000", "pg_error"), null],
    ["GET /film", { code: "301", own: true, message: "x" }, null],
    ["GET /film", { code: "123", message: "raised by a function" }, null],
  ];

for (const [line, fields, hint] of rows) {
  Deno.test(`adviceFor() is ${hint} for ${line} ${JSON.stringify(fields)}`, () => {
    strictEqual(advice(line, fields), hint);
  });
}

Deno.test("adviceFor() names no role before authentication", () => {
  const fields = raised("42501", "aclcheck_error", { isNested: true });
  strictEqual(advice("GET /film", fields, { role: null }), null);
});

Deno.test("adviceFor() suggests no role that requests must not have", () => {
  const refused = (role: string, code: string) =>
    advice("GET /film", raised(code, "call_string_check_hook"), { role });
  strictEqual(refused("postgres", "42501"), "Send a token of another role than postgres");
  strictEqual(refused("pg_new", "22023"), null);
});

Deno.test("adviceFor() cuts what a client sent", () => {
  const subject = { filter: "x".repeat(2000) };
  const hint = advice(`GET /film?id=${"x".repeat(2000)}`, { code: "100", own: true, subject });
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
  const fields = raised("25006", "PreventCommandIfReadOnly");
  for (const line of ["POST /film", "POST /rpc/add", "GET /rpc/add"]) {
    strictEqual(advice(line, fields, context), "The service is read only (db-read-only).");
  }
});

Deno.test("requestAdvice() reads a long name of a parameter in linear time", () => {
  const cache = { relations: [{ schema: "api", name: "film", columns: [{ name: "id" }] }] };
  const run = (name: string) => {
    const fields = { code: "100", own: true, subject: { filter: "x" } };
    const raw = { method: "GET", path: "/film", query: `${name}=x`, headers: {}, cookies: {} };
    return requestAdvice(
      fields as ErrorFields,
      { raw, role: "anon", config, cache } as unknown as AdviceContext,
    );
  };
  strictEqual(run("id__gt"), "Write id=gt.x");
  strictEqual(run("id[gt]"), "Write id=gt.x");
  const make = (length: number) => `${"_".repeat(length)}!`;
  assertLinearTime("requestAdvice of underscores", { size: 32_000, make, run });
});
