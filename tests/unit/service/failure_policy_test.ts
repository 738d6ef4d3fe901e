import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { pgrstDialect, svcDialect } from "../../../src/dialect.ts";
import { errors } from "../../../src/errors/catalogue.ts";
import { DatabaseError } from "../../../src/errors/service_error.ts";
import { Failures } from "../../../src/service/failure_policy.ts";

interface Given {
  readonly recovers?: boolean;
  /** Whether the service may end its process. */
  readonly ends?: boolean;
}

function judging({ recovers = true, ends = true }: Given = {}) {
  const told: string[] = [];
  const failures = new Failures({
    dialect: svcDialect,
    observe: (event) => void told.push(event.kind),
    recovers: () => recovers,
    onFatal: ends ? () => void told.push("end") : null,
  });
  return { failures, told };
}

function refused(sqlstate: string, message = "no"): DatabaseError {
  return new DatabaseError({ sqlstate, message, detail: null, hint: null });
}

const login = errors.cannotConnect("FATAL:  password authentication failed");
const unreachable = errors.cannotConnect("Connection refused");
const statementMode = refused(
  "08P01",
  "transaction blocks not allowed in statement pooling mode",
);

type Row = readonly [
  title: string,
  given: Given,
  judge: (failures: Failures) => boolean | void,
  told: readonly string[],
];

const rows: readonly Row[] = [
  ["a refused login", {}, (f) => f.isEnd(login), ["connect-failed", "end"]],
  ["a refused login, asked for alone", {}, (f) => f.isRefusal(login), ["connect-failed", "end"]],
  ["a pooler, asked for refusal", {}, (f) => f.isRefusal(statementMode), []],
  [
    "a server that is not there without recovery, asked for refusal",
    { recovers: false },
    (f) => f.isRefusal(unreachable),
    [],
  ],
  ["a pooler in statement mode", {}, (f) => f.isEnd(statementMode), ["pooler-found", "end"]],
  ["a pooler in transaction mode", {}, (f) => f.poolerFound(), ["pooler-found", "end"]],
  ["an old version", {}, (f) => f.versionUnsupported("13.1"), ["version-unsupported", "end"]],
  [
    "a query of ours that is no SQL",
    {},
    (f) => f.isOwnMistake(refused("42601")),
    ["statement-refused", "end"],
  ],
  ["a query of ours that fails otherwise", {}, (f) => f.isOwnMistake(refused("3F000")), []],
  ["a request's syntax error", {}, (f) => f.isEnd(refused("42601")), []],
  ["a server that is not there", {}, (f) => f.isEnd(unreachable), []],
  ["a terminated connection", {}, (f) => f.isEnd(refused("57P01")), []],
  ["a lost listener", {}, (f) => f.isListenerEnd("gone"), []],
  [
    "a listener's refused login",
    {},
    (f) => f.isListenerEnd(String(login.facts.details)),
    ["connect-failed", "end"],
  ],
  [
    "a server that is not there, without recovery",
    { recovers: false },
    (f) => f.isEnd(unreachable),
    ["recovery-disabled", "end"],
  ],
  [
    "a terminated connection, without recovery",
    { recovers: false },
    (f) => f.isEnd(refused("57P01")),
    ["recovery-disabled", "end"],
  ],
  [
    "a lost listener, without recovery",
    { recovers: false },
    (f) => f.isListenerEnd("gone"),
    ["recovery-disabled", "end"],
  ],
  ["a missing schema, without recovery", { recovers: false }, (f) => f.isEnd(refused("3F000")), []],
  ["a refused login of a handler", { ends: false }, (f) => f.isEnd(login), []],
  [
    "a server that is not there, of a handler without recovery",
    { ends: false, recovers: false },
    (f) => f.isEnd(unreachable),
    [],
  ],
  ["a pooler before a handler", { ends: false }, (f) => f.poolerFound(), ["pooler-found"]],
  [
    "an old version under a handler",
    { ends: false },
    (f) => f.versionUnsupported("13.1"),
    ["version-unsupported"],
  ],
];

for (const [title, given, judge, expected] of rows) {
  const ends = expected.includes("end");
  Deno.test(`${title} ${ends ? "ends the process" : "is lived with"}`, () => {
    const { failures, told } = judging(given);
    const judged = judge(failures);
    if (judged !== undefined) strictEqual(judged, ends);
    deepStrictEqual(told, expected);
    strictEqual(failures.isEnding, ends);
    strictEqual(failures.mayGoOn, !ends && given.recovers !== false);
  });
}

Deno.test("a process ends once", () => {
  const { failures, told } = judging({ recovers: false });
  strictEqual(failures.isEnd(login), true);
  strictEqual(failures.isEnd(unreachable), true);
  failures.poolerFound();
  deepStrictEqual(told, ["connect-failed", "end"]);
});

Deno.test("a service is called by its name in the dialect", () => {
  const names: unknown[] = [];
  const failures = new Failures({
    dialect: pgrstDialect,
    observe: (event) => void names.push("name" in event ? event.name : null),
    recovers: () => true,
    onFatal: () => {},
  });
  failures.versionUnsupported("13.1");
  deepStrictEqual(names, ["PostgREST"]);
});
