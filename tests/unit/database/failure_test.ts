import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { fatalFailureOf, isConnectionLost } from "../../../src/database/failure.ts";
import { errors } from "../../../src/base/errors/catalogue.ts";
import { DatabaseError, type DatabaseFailure } from "../../../src/base/errors/service_error.ts";

function refused(
  sqlstate: string,
  message = "no",
  origin: Pick<DatabaseFailure, "fatal" | "subject"> = {},
): DatabaseError {
  return new DatabaseError({ sqlstate, message, detail: null, hint: null, ...origin });
}

const inFunction = { subject: { isNested: true } } as const;

const rows:
  readonly (readonly [title: string, thrown: unknown, kind: string | null, loss: boolean])[] = [
    [
      "a wrong password",
      errors.cannotConnect('x failed: FATAL:  password authentication failed for user "u"\n'),
      "login",
      true,
    ],
    [
      "no password",
      errors.cannotConnect("x failed: fe_sendauth: no password supplied\n"),
      "login",
      true,
    ],
    ["a wrong host", errors.cannotConnect("could not translate host name"), null, true],
    [
      "an unknown database",
      errors.cannotConnect('FATAL:  database "x" does not exist'),
      null,
      true,
    ],
    ["a lost connection", errors.connectionLost("gone"), null, true],
    ["a wait for the pool", errors.acquisitionTimeout(), null, false],
    ["a missing schema cache", errors.noSchemaCache(), null, false],
    [
      "a statement of ours that another connection prepared",
      refused("42P05", 'prepared statement "svc_k1_7" already exists'),
      "transaction",
      false,
    ],
    [
      "a statement of a function's",
      refused("42P05", 'prepared statement "p" already exists'),
      null,
      false,
    ],
    [
      "a pooler in statement mode",
      refused("08P01", "transaction blocks not allowed in statement pooling mode"),
      "statement",
      false,
    ],
    ["another protocol violation", refused("08P01"), null, false],
    ["a remote database that a function cannot reach", refused("08001"), null, false],
    ["an administrator", refused("57P01"), null, true],
    ["a crash", refused("57P02"), null, true],
    ["a start", refused("57P03"), null, true],
    ["an administrator, by a function", refused("57P01", "no", inFunction), null, false],
    [
      "an administrator, in a function",
      refused("57P01", "no", { ...inFunction, fatal: true }),
      null,
      true,
    ],
    [
      "a statement with a name like ours, by a function",
      refused("42P05", 'prepared statement "svc_k1_7" already exists', inFunction),
      null,
      false,
    ],
    [
      "a pooler in statement mode, by a function",
      refused("08P01", "transaction blocks not allowed in statement pooling mode", inFunction),
      null,
      false,
    ],
    ["a cancelled statement", refused("57014"), null, false],
    ["a syntax error", refused("42601"), null, false],
    ["a bug", new TypeError("x"), null, false],
  ];

for (const [title, thrown, kind, loss] of rows) {
  Deno.test(`${title} is ${kind ?? "not fatal"} and ${loss ? "a" : "no"} loss`, () => {
    const fatal = fatalFailureOf(thrown);
    deepStrictEqual(
      fatal === null ? null : fatal.kind === "pooler" ? fatal.mode : fatal.kind,
      kind,
    );
    strictEqual(isConnectionLost(thrown), loss);
  });
}
