import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { DatabasePool } from "../../../../src/database/database.ts";
import { Heartbeat } from "../../../../src/state/app_state/heartbeat.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** A heartbeat of a database that answers when the test says so. */
function beating() {
  const clock = fakeClock();
  const log: string[] = [];
  const questions: PromiseWithResolvers<void>[] = [];
  const state = { hasConnection: true };
  const send = (name: string) => {
    log.push(name);
    const question = Promise.withResolvers<void>();
    questions.push(question);
    return question.promise;
  };
  const heartbeat = new Heartbeat({
    database: {
      version: () => send("version").then(() => "PostgreSQL 15.0"),
      pool: {
        ask: () => state.hasConnection ? send("ask") : null,
        suspect: () => void log.push("suspect"),
      } as Partial<DatabasePool> as DatabasePool,
    },
    onAnswer: () => log.push("trust"),
    observe: (event) => log.push(event.kind === "database-answers" ? `${event.ms} ms` : event.kind),
    now: clock.now,
    schedule: clock.schedule,
  });
  heartbeat.start();
  return { clock, log, state, heartbeat, questions };
}

Deno.test("Heartbeat asks one question at each full second, one after the other", async () => {
  const { clock, log, heartbeat, questions } = beating();
  await clock.pass(1000);
  await clock.pass(500);
  questions[0]!.resolve();
  await settled();
  await clock.pass(499);
  deepStrictEqual(log, ["ask"]);
  await clock.pass(1);
  deepStrictEqual(log, ["ask", "ask"]);
  strictEqual(heartbeat.isSilent, false);
  heartbeat.stop();
  strictEqual(clock.next(), null);
});

Deno.test("Heartbeat reports silence once, and the answer after it", async () => {
  const { clock, log, heartbeat, questions } = beating();
  await clock.pass(1999);
  strictEqual(heartbeat.isSilent, false);
  await clock.pass(1);
  strictEqual(heartbeat.isSilent, true);
  await clock.pass(58_000);
  deepStrictEqual(log, ["ask", "database-silent", "suspect"]);
  questions[0]!.resolve();
  await settled();
  deepStrictEqual(log.slice(3), ["59000 ms", "trust"]);
  strictEqual(heartbeat.isSilent, false);
  heartbeat.stop();
});

Deno.test("Heartbeat takes a lost connection for no silence", async () => {
  const { clock, log, heartbeat, questions } = beating();
  await clock.pass(1000);
  questions[0]!.reject(new Error("lost"));
  await settled();
  await clock.pass(1999);
  deepStrictEqual([log, heartbeat.isSilent], [["ask", "ask"], false]);
  heartbeat.stop();
});

Deno.test("Heartbeat opens connections only while the database is silent", async () => {
  const { clock, log, state, heartbeat, questions } = beating();
  state.hasConnection = false;
  await clock.pass(5000);
  deepStrictEqual(log, []);
  state.hasConnection = true;
  await clock.pass(2000);
  state.hasConnection = false;
  questions[0]!.reject(new Error("closed after 5 s"));
  await settled();
  await clock.pass(1000);
  deepStrictEqual(log, ["ask", "database-silent", "suspect", "version"]);
  questions[1]!.resolve();
  await settled();
  strictEqual(heartbeat.isSilent, false);
  heartbeat.stop();
});
