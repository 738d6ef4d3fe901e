import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { pgrstDialect, svcDialect } from "../../../../src/base/dialect.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import type { DatabaseFailure } from "../../../../src/base/errors/service_error.ts";
import {
  databaseFailureToError,
  statusBySqlstate,
  statusOf,
} from "../../../../src/base/errors/sqlstate.ts";

function failure(sqlstate: string, texts: Partial<DatabaseFailure> = {}): DatabaseFailure {
  return { sqlstate, message: "m", detail: null, hint: null, ...texts };
}

const authenticated = { authenticated: true, dialect: svcDialect };
const anonymous = { authenticated: false, dialect: svcDialect };

Deno.test("statusOf gives the status of every state", () => {
  const rows: [states: string, status: number][] = [
    ["08000 08003 08006 08P01", 503],
    ["09000", 500],
    ["0L000 0LP01", 403],
    ["0P000", 403],
    ["23503 23505", 409],
    ["23000 23001 23502 23514 23P01", 400],
    ["25006", 405],
    ["25000 25001 25P02 25P03", 500],
    ["28000 28P01", 403],
    ["2D000", 500],
    ["38000 38001", 500],
    ["39000 39P01", 500],
    ["3B000 3B001", 500],
    ["40000 40001 40003 40P01", 500],
    ["53000 53100 53200 53300 53400", 503],
    ["54000 54001 54011 54023", 413],
    ["55000", 400],
    ["55006 55P03", 500],
    ["57P01", 503],
    ["57000 57014 57P02 57P03 57P04", 500],
    ["58000 58030 58P01", 500],
    ["F0000 F0001", 500],
    ["HV000 HV00R", 500],
    ["P0001", 400],
    ["P0000 P0002 P0003 P0004", 500],
    ["XX000 XX001 XX002", 500],
    ["42883", 404],
    ["42P01", 404],
    ["42P17", 500],
    ["42703 42601 42704 428C9 42P02 42804", 400],
    ["21000 22023 22P02 22001 22003 01000 0A000 3D000 3F000 44000 72000 ZZZZZ", 400],
  ];
  for (const [states, status] of rows) {
    for (const state of states.split(" ")) {
      for (const authenticated of [true, false]) {
        strictEqual(
          statusOf(failure(state), { authenticated, dialect: svcDialect }),
          status,
          state,
        );
      }
    }
  }
});

Deno.test("statusOf depends on nothing but the state", () => {
  const messages = [
    'role "ghost" does not exist',
    "UPDATE requires a WHERE clause",
    "function xmlagg(json) does not exist",
  ];
  for (const message of messages) {
    for (const [state, status] of [["22023", 400], ["21000", 400], ["42883", 404]] as const) {
      strictEqual(statusOf(failure(state, { message }), authenticated), status);
    }
  }
});

Deno.test("statusOf maps missing privileges by whether the role is anonymous", () => {
  strictEqual(statusOf(failure("42501"), authenticated), 403);
  strictEqual(statusOf(failure("42501"), anonymous), 401);
});

Deno.test("statusBySqlstate has no row behind one that covers it", () => {
  for (const [index, [prefix]] of statusBySqlstate.entries()) {
    strictEqual(
      statusBySqlstate.findIndex(([earlier]) => prefix.startsWith(earlier)),
      index,
      prefix,
    );
  }
});

Deno.test("statusOf answers PTnnn with nnn when that can be sent", () => {
  const rows: [state: string, status: number][] = [
    ["PT200", 200],
    ["PT204", 204],
    ["PT302", 302],
    ["PT401", 401],
    ["PT402", 402],
    ["PT503", 503],
    ["PT599", 599],
    ["PT000", 500],
    ["PT100", 500],
    ["PT101", 500],
    ["PT199", 500],
    ["PT600", 500],
    ["PT999", 500],
    ["PT40A", 500],
    ["PTABC", 500],
    ["PT0X1", 500],
    ["PT4e2", 500],
    ["PT 40", 500],
  ];
  for (const [state, status] of rows) {
    strictEqual(statusOf(failure(state), authenticated), status, state);
  }
});

Deno.test("databaseFailureToError() makes a lost connection of the server's end", () => {
  const context = { authenticated: true, dialect: pgrstDialect };
  const texts = { message: "terminating connection due to administrator command" };
  const codeOf = (sqlstate: string, fields: Partial<DatabaseFailure>) =>
    databaseFailureToError(failure(sqlstate, { ...texts, ...fields }), context).fields.code;
  deepStrictEqual(
    databaseFailureToError(failure("57P01", { ...texts, fatal: true }), context).fields,
    errors.connectionLost("no connection to the server\n").fields,
  );
  deepStrictEqual(
    databaseFailureToError(failure("57P01", { ...texts, fatal: true }), {
      ...context,
      dialect: svcDialect,
    }).fields,
    errors.connectionLost("FATAL:  terminating connection due to administrator command").fields,
  );
  deepStrictEqual(
    ["57P01", "57P02", "57P03", "57P04", "57P05", "57014", "25P04", "08P01", "P0001"]
      .map((state) => codeOf(state, { fatal: true })),
    ["001", "001", "001", "001", "001", "57014", "25P04", "08P01", "P0001"],
  );
  strictEqual(codeOf("57P01", {}), "57P01", "raised by a function");
});

Deno.test("databaseFailureToError forwards code, message, detail and hint", () => {
  const texts = {
    message: 'null value in column "k" of relation "t" violates not-null constraint',
    detail: "Failing row contains (null, foo).",
    hint: "h",
  };
  const context = { authenticated: true, dialect: svcDialect };
  deepStrictEqual(databaseFailureToError(failure("23502", texts), context).fields, {
    code: "23502",
    own: false,
    status: 400,
    message: texts.message,
    details: texts.detail,
    hint: texts.hint,
  });
});

Deno.test("databaseFailureToError challenges with every 401 of the database", () => {
  const rows: [state: string, authenticated: boolean, status: number, challenged: boolean][] = [
    ["42501", false, 401, true],
    ["42501", true, 403, false],
    ["PT401", true, 401, true],
    ["PT401", false, 401, true],
    ["PT403", false, 403, false],
    ["28000", false, 403, false],
    ["22023", true, 400, false],
  ];
  for (const [state, authenticated, status, challenged] of rows) {
    const { fields } = databaseFailureToError(failure(state), {
      authenticated,
      dialect: svcDialect,
    });
    strictEqual(fields.status, status, state);
    deepStrictEqual(
      fields.headers,
      challenged ? [["WWW-Authenticate", "Bearer"]] : undefined,
      state,
    );
  }
});

Deno.test("databaseFailureToError makes the message of PTnnn the reason phrase", () => {
  const rows: [state: string, message: string, statusText: string | undefined][] = [
    ["PT402", "Payment Required", "Payment Required"],
    ["PT402", "a\r\nSet-Cookie: b", "a Set-Cookie: b"],
    ["PT500", "Oops", "Oops"],
    ["PT999", "Oops", undefined],
    ["PT40A", "Oops", undefined],
    ["P0001", "Oops", undefined],
  ];
  for (const [state, message, statusText] of rows) {
    const error = databaseFailureToError(
      failure(state, { message, detail: "Quota exceeded", hint: "Upgrade your plan" }),
      { authenticated: false, dialect: svcDialect },
    );
    const { code, details, hint } = error.fields;
    deepStrictEqual({ code, message: error.fields.message, details, hint }, {
      code: state,
      message,
      details: "Quota exceeded",
      hint: "Upgrade your plan",
    });
    strictEqual(error.fields.statusText, statusText, state);
  }
});
