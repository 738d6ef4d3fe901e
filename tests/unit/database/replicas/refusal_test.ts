import { deepStrictEqual } from "node:assert/strict";
import { refusalOf } from "../../../../src/database/replicas/refusal.ts";
import { errors } from "../../../../src/errors/catalogue.ts";
import { DatabaseError } from "../../../../src/errors/service_error.ts";

function failure(sqlstate: string, statement = 1, message = ""): DatabaseError {
  return new DatabaseError({ sqlstate, message, detail: null, hint: null }, statement);
}

const begun = { isUnbegun: false };
const unbegun = { isUnbegun: true };
const rows: readonly (readonly [name: string, error: unknown, refusal: unknown])[] = [
  ...["40001", "40P01"].map((code) =>
    [code, failure(code), { reason: "conflict", ...begun }] as const
  ),
  ...["25006", "0A000", "55000"].map((code) =>
    [code, failure(code), { reason: "read-only", ...begun }] as const
  ),
  ...["57P01", "57P02", "57P03", "08006", "08P01"].map((code) =>
    [code, failure(code), { reason: "connection", ...begun }] as const
  ),
  ...["42P01", "42703", "42704", "42883"].map((code) =>
    [code, failure(code), { reason: "schema", ...begun }] as const
  ),
  ["a failed check", failure("42704", -1, '"svc(position)"'), { reason: "position", ...unbegun }],
  ["a check without the privilege", failure("42501", -1), { reason: "position", ...unbegun }],
  ["a division of the read itself", failure("22012"), null],
  ["a canceled check", failure("57014", -1), null],
  ["a canceled read", failure("57014"), null],
  ["a missing privilege", failure("42501"), null],
  ["an error of the data", failure("22P02"), null],
  ["no connection", errors.cannotConnect(null), { reason: "connection", ...unbegun }],
  ["a lost connection", errors.connectionLost(null), { reason: "connection", ...begun }],
  ["a full pool", errors.acquisitionTimeout(), { reason: "busy", ...unbegun }],
  ["the time of the request", errors.requestTimeout(), null],
  ["another value", new Error("bug"), null],
];
for (const [name, error, refusal] of rows) {
  Deno.test(`refusalOf() classifies ${name}`, () => deepStrictEqual(refusalOf(error), refusal));
}
