import { deepStrictEqual } from "node:assert/strict";
import { refusalOf } from "../../../../src/database/replicas/replicated_database.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import { DatabaseError } from "../../../../src/base/errors/service_error.ts";

function failure(sqlstate: string, statement = 1, message = ""): DatabaseError {
  return new DatabaseError({ sqlstate, message, detail: null, hint: null }, statement);
}

const rows: readonly (readonly [name: string, error: unknown, refusal: string | null])[] = [
  ...["40001", "40P01"].map((code) => [code, failure(code), "conflict"] as const),
  ...["25006", "0A000", "55000"].map((code) => [code, failure(code), "read-only"] as const),
  ...["57P01", "57P02", "57P03", "08006", "08P01"].map((code) =>
    [code, failure(code), "connection"] as const
  ),
  ...["42P01", "42703", "42704", "42883"].map((code) => [code, failure(code), "schema"] as const),
  ["a failed check", failure("42704", -1, '"svc(position)"'), "position"],
  ["a check without the privilege", failure("42501", -1), "position"],
  ["a division of the read itself", failure("22012"), null],
  ["a canceled check", failure("57014", -1), null],
  ["a canceled read", failure("57014"), null],
  ["a missing privilege", failure("42501"), null],
  ["an error of the data", failure("22P02"), null],
  ["no connection", errors.cannotConnect(null), "connection"],
  ["a lost connection", errors.connectionLost(null), "connection"],
  ["a full pool", errors.acquisitionTimeout(), "busy"],
  ["the time of the request", errors.requestTimeout(), null],
  ["another value", new Error("bug"), null],
];
for (const [name, error, refusal] of rows) {
  Deno.test(`refusalOf() classifies ${name}`, () => deepStrictEqual(refusalOf(error), refusal));
}
