import { deepStrictEqual } from "node:assert/strict";
import { DiagnosisLog } from "../../../src/diagnosis/diagnosis_log.ts";
import type { Finding } from "../../../src/diagnosis/finding.ts";
import { pgrstDialect, svcDialect } from "../../../src/dialect.ts";
import type { LogLevel, Observation } from "../../../src/observe/observation.ts";

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
function observed(logLevel: LogLevel = "error", dialect = svcDialect) {
  const events: Observation[] = [];
  const log = new DiagnosisLog((event) => events.push(event));
  let findings: readonly Finding[] = [];
  const service = {
    diagnose: () => Promise.resolve(findings),
    config: () => ({ logLevel, dialect }),
  };
  const lines = async (): Promise<readonly string[]> => {
    await log.settled();
    return events.splice(0).map((event) => {
      if (event.kind === "findings-omitted") return `${event.count} more`;
      return event.kind === "finding" ? event.line : event.kind;
    });
  };
  return { log, lines, service, find: (next: readonly Finding[]) => void (findings = next) };
}

const levels: readonly (readonly [
  level: LogLevel,
  dialect: typeof svcDialect,
  lines: readonly string[],
])[] = [
  ["crit", svcDialect, ["error a: wrong"]],
  ["error", svcDialect, ["error a: wrong"]],
  ["warn", svcDialect, ["error a: wrong", "warn b: wrong"]],
  ["debug", svcDialect, ["error a: wrong", "warn b: wrong"]],
  ["error", pgrstDialect, []],
  ["warn", pgrstDialect, ["error a: wrong", "warn b: wrong"]],
];

for (const [level, dialect, expected] of levels) {
  Deno.test(`DiagnosisLog reports ${expected.length} findings at ${level} in ${dialect.name}`, async () => {
    const { log, lines, service, find } = observed(level, dialect);
    find([error, warning, note]);
    log.take(loaded);
    log.start(service);
    deepStrictEqual(await lines(), expected);
  });
}

Deno.test("DiagnosisLog reports the caution of SQL that may break a working API", async () => {
  const events: Observation[] = [];
  const log = new DiagnosisLog((event) => void events.push(event));
  const found = { ...error, name: "write-without-rls", sql: "alter table api.a;" };
  log.take(loaded);
  log.start({
    diagnose: () => Promise.resolve([found, { ...found, name: "truncate" }]),
    config: () => ({ logLevel: "warn", dialect: svcDialect }),
  });
  await log.settled();
  deepStrictEqual(events.map((event) => event.kind === "finding" ? event.caution : event.kind), [
    "writes of requests fail afterwards until a policy allows them",
    null,
  ]);
});

Deno.test("DiagnosisLog reports a finding again only after it went away", async () => {
  const { log, lines, service, find } = observed("warn");
  log.take(loaded);
  find([error]);
  log.start(service);
  deepStrictEqual(await lines(), ["error a: wrong"]);
  log.take(loaded);
  deepStrictEqual(await lines(), []);
  find([error, warning]);
  log.take({ kind: "config-reloaded" });
  deepStrictEqual(await lines(), ["warn b: wrong"]);
  find([]);
  log.take(loaded);
  deepStrictEqual(await lines(), []);
  find([error]);
  log.take(loaded);
  deepStrictEqual(await lines(), ["error a: wrong"]);
});

Deno.test("DiagnosisLog reports twenty findings and the number of the others", async () => {
  const { log, lines, service, find } = observed();
  find(Array.from({ length: 27 }, (_, number) => finding("error", `e${number}`)));
  log.take(loaded);
  log.start(service);
  const reported = await lines();
  deepStrictEqual([reported.length, reported.at(-2), reported.at(-1)], [
    21,
    "error e19: wrong",
    "7 more",
  ]);
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
  deepStrictEqual(await lines(), ["error a: wrong"]);
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
