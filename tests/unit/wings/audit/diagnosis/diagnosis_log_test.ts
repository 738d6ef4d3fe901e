import { deepStrictEqual } from "node:assert/strict";
import { DiagnosisLog } from "../../../../../src/wings/audit/diagnosis/diagnosis_log.ts";
import type { Finding } from "../../../../../src/wings/audit/diagnosis/finding.ts";
import { pgrstDialect, svcDialect } from "../../../../../src/base/dialect.ts";
import type { Observation } from "../../../../../src/base/observe/observation.ts";
import type { LogLevel } from "../../../../../src/base/log_level.ts";

const error = finding("error", "a");
const warning = finding("warn", "b");
const note = finding("info", "c");

function finding(level: Finding["level"], name: string): Finding {
  return { name, level, subject: name, message: "wrong", sql: null };
}

const loaded: Observation = {
  kind: "schema-cache-loaded",
  counts: { relations: 0, relationships: 0, functions: 0, representations: 0, mediaHandlers: 0 },
  ms: 0,
};

function failed(code: string): Observation {
  const facts = { code, message: "", details: null, hint: null };
  return { kind: "schema-cache-failed", schemas: [], extraSearchPath: [], error: facts };
}

/** A log whose diagnoses return what the test sets, with the lines of each run. */
function observed(logLevel: LogLevel = "error", dialect = svcDialect, logFindings = true) {
  const events: Observation[] = [];
  const log = new DiagnosisLog((event) => events.push(event));
  let findings: readonly Finding[] = [];
  const service = {
    diagnose: () => Promise.resolve(findings),
    config: () => ({ logLevel, logFindings, dialect }),
  };
  const lines = async (): Promise<readonly (number | string)[]> => {
    await log.settled();
    return events.splice(0).map((event) => event.kind === "findings" ? event.count : event.kind);
  };
  return { log, lines, service, find: (next: readonly Finding[]) => void (findings = next) };
}

const levels: readonly (readonly [LogLevel, typeof svcDialect, boolean, readonly number[]])[] = [
  ["crit", svcDialect, true, [2]],
  ["warn", svcDialect, true, [2]],
  ["debug", svcDialect, false, []],
  ["info", pgrstDialect, true, []],
  ["debug", pgrstDialect, true, [2]],
  ["debug", pgrstDialect, false, []],
];

for (const [level, dialect, logFindings, expected] of levels) {
  Deno.test(`DiagnosisLog reports at ${level} in ${dialect.name} with log-findings = ${logFindings}: ${expected}`, async () => {
    const { log, lines, service, find } = observed(level, dialect, logFindings);
    find([error, warning, note]);
    log.take(loaded);
    log.start(service);
    deepStrictEqual(await lines(), expected);
  });
}

Deno.test("DiagnosisLog reports a finding again only after it went away", async () => {
  const { log, lines, service, find } = observed("warn");
  log.take(loaded);
  find([error]);
  log.start(service);
  deepStrictEqual(await lines(), [1]);
  log.take(loaded);
  deepStrictEqual(await lines(), []);
  find([error, warning]);
  log.take({ kind: "config-reloaded" });
  deepStrictEqual(await lines(), [2]);
  find([]);
  log.take(loaded);
  deepStrictEqual(await lines(), []);
  find([error]);
  log.take(loaded);
  deepStrictEqual(await lines(), [1]);
});

const starts: readonly (readonly [label: string, event: Observation | null, lines: number])[] = [
  ["after a load", loaded, 1],
  ["if a schema is missing", failed("3F000"), 1],
  ["not if the database is lost", failed("SVC001"), 0],
  ["not before a load", null, 0],
];

for (const [label, event, count] of starts) {
  Deno.test(`DiagnosisLog.start() diagnoses ${label}`, async () => {
    const { log, lines, service, find } = observed();
    find([error]);
    if (event !== null) log.take(event);
    log.start(service);
    deepStrictEqual((await lines()).length, count);
  });
}

Deno.test("DiagnosisLog survives a diagnosis that fails, and reports after the next reload", async () => {
  const { log, lines, service, find } = observed();
  let failures = 1;
  const diagnose = () => failures-- > 0 ? Promise.reject(new Error("lost")) : service.diagnose();
  find([error]);
  log.take(loaded);
  log.start({ ...service, diagnose });
  deepStrictEqual(await lines(), []);
  log.take(loaded);
  deepStrictEqual(await lines(), [1]);
});

Deno.test("DiagnosisLog merges reloads during a diagnosis into one further diagnosis", async () => {
  const { log, lines, service } = observed();
  let runs = 0;
  const { promise, resolve } = Promise.withResolvers<readonly Finding[]>();
  log.take(loaded);
  log.start({ ...service, diagnose: () => ++runs === 1 ? promise : service.diagnose() });
  for (let reload = 0; reload < 5; reload++) log.take(loaded);
  resolve([]);
  await lines();
  deepStrictEqual(runs, 2);
});

Deno.test("DiagnosisLog reports nothing after stop()", async () => {
  const { log, lines, service, find } = observed();
  find([error]);
  log.take(loaded);
  log.start(service);
  log.stop();
  deepStrictEqual(await lines(), []);
});
