import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { svcDialect } from "../../../../src/base/dialect.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import { DatabaseError } from "../../../../src/base/errors/service_error.ts";
import { FailurePolicy } from "../../../../src/state/app_state/failure_policy.ts";

interface PolicyRow {
  readonly recovers?: boolean;
  readonly retriesLogin?: boolean;
  readonly endsAtPooler?: boolean;
  /** Whether the service may end its process. */
  readonly ends?: boolean;
}

function policyOf(row: PolicyRow = {}) {
  const { recovers = true, retriesLogin = false, endsAtPooler = true, ends = true } = row;
  const events: string[] = [];
  const policy = new FailurePolicy({
    dialect: svcDialect,
    observe: (event) => void events.push(event.kind),
    config: () => ({
      dbPoolAutomaticRecovery: recovers,
      dbPasswordFile: retriesLogin ? "password" : null,
      dbPreparedStatements: endsAtPooler ? true : "auto",
    }),
    onFatal: ends ? () => void events.push("end") : null,
  });
  return { policy, events };
}

function refused(sqlstate: string, message = "no"): DatabaseError {
  return new DatabaseError({ sqlstate, message, detail: null, hint: null });
}

const takenName = refused("42P05", 'prepared statement "svc_1_1" already exists');
const login = errors.cannotConnect("FATAL:  password authentication failed");
const unreachable = errors.cannotConnect("Connection refused");
const statementMode = refused("08P01", "transaction blocks not allowed in statement pooling mode");

type Row = readonly [
  title: string,
  options: PolicyRow,
  judge: (policy: FailurePolicy) => boolean | void,
  events: readonly string[],
];

const rows: readonly Row[] = [
  ["a refused login", {}, (f) => f.exitOnFatal(login), ["connect-failed", "end"]],
  ["a refused login with a password file", { retriesLogin: true }, (f) => f.exitOnFatal(login), []],
  [
    "a listener's refused login with a password file",
    { retriesLogin: true },
    (f) => f.exitOnListenerFailure(String(login.fields.details)),
    [],
  ],
  ["a pooler, by exitOnLoginRefused()", {}, (f) => f.exitOnLoginRefused(statementMode), []],
  [
    "an unreachable server without recovery, by exitOnLoginRefused()",
    { recovers: false },
    (f) => f.exitOnLoginRefused(unreachable),
    [],
  ],
  ["a pooler in statement mode", {}, (f) => f.exitOnFatal(statementMode), ["pooler-found", "end"]],
  ["a pooler in transaction mode", {}, (f) => f.exitOnPooler(), ["pooler-found", "end"]],
  [
    "a pooler in transaction mode, where statements can be unnamed",
    { endsAtPooler: false },
    (f) => f.exitOnPooler(),
    ["statements-unnamed"],
  ],
  ["a taken statement name", {}, (f) => f.exitOnFatal(takenName), ["pooler-found", "end"]],
  [
    "a taken statement name, where statements can be unnamed",
    { endsAtPooler: false },
    (f) => f.exitOnFatal(takenName),
    [],
  ],
  [
    "an own statement with a syntax error",
    {},
    (f) => f.exitOnSyntaxError(refused("42601")),
    ["statement-refused", "end"],
  ],
  ["an own statement with another error", {}, (f) => f.exitOnSyntaxError(refused("3F000")), []],
  ["a request's syntax error", {}, (f) => f.exitOnFatal(refused("42601")), []],
  ["an unreachable server", {}, (f) => f.exitOnFatal(unreachable), []],
  ["a terminated connection", {}, (f) => f.exitOnFatal(refused("57P01")), []],
  ["a lost listener", {}, (f) => f.exitOnListenerFailure("gone"), []],
  [
    "a listener's refused login",
    {},
    (f) => f.exitOnListenerFailure(String(login.fields.details)),
    ["connect-failed", "end"],
  ],
  [
    "an unreachable server, without recovery",
    { recovers: false },
    (f) => f.exitOnFatal(unreachable),
    ["recovery-disabled", "end"],
  ],
  [
    "a lost listener, without recovery",
    { recovers: false },
    (f) => f.exitOnListenerFailure("gone"),
    ["recovery-disabled", "end"],
  ],
  [
    "a missing schema, without recovery",
    { recovers: false },
    (f) => f.exitOnFatal(refused("3F000")),
    [],
  ],
  ["a refused login of a handler", { ends: false }, (f) => f.exitOnFatal(login), []],
  [
    "an unreachable server, of a handler without recovery",
    { ends: false, recovers: false },
    (f) => f.exitOnFatal(unreachable),
    [],
  ],
  ["a pooler in front of a handler", { ends: false }, (f) => f.exitOnPooler(), ["pooler-found"]],
];

for (const [title, options, judge, expected] of rows) {
  const ends = expected.includes("end");
  Deno.test(`${title} ${ends ? "ends the process" : "does not end the process"}`, () => {
    const { policy, events } = policyOf(options);
    const judged = judge(policy);
    if (judged !== undefined) strictEqual(judged, ends);
    deepStrictEqual(events, expected);
    strictEqual(policy.isEnding, ends);
    strictEqual(policy.willRetry, !ends && options.recovers !== false);
  });
}

Deno.test("FailurePolicy.isFatal() reports nothing and ends nothing", () => {
  const { policy, events } = policyOf();
  strictEqual(policy.isFatal(login), true);
  strictEqual(policy.isFatal(unreachable), false);
  deepStrictEqual([events, policy.isEnding], [[], false]);
});

Deno.test("FailurePolicy ends the process once", () => {
  const { policy, events } = policyOf({ recovers: false });
  strictEqual(policy.exitOnFatal(login), true);
  strictEqual(policy.exitOnFatal(unreachable), true);
  policy.exitOnPooler();
  deepStrictEqual(events, ["connect-failed", "end"]);
});
