import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Statement } from "../../../../src/database/batch.ts";
import { ProbeConnection } from "../../../../src/database/replicas/probe_connection.ts";
import { fakeServer, FakeTransport, row } from "../../../support/database/fake_backend.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** A server whose connections the test answers; `opened` are their transports. */
function fakeTarget() {
  const opened: FakeTransport[] = [];
  const target = { opened, answers: true };
  const connect = () => {
    const transport = new FakeTransport();
    const server = fakeServer({ rowsOf: (text) => text.startsWith("ask") ? row(text) : null });
    transport.reply = (sent) => target.answers ? server(sent) : null;
    opened.push(transport);
    return Promise.resolve(transport);
  };
  return Object.assign(target, { probe: new ProbeConnection(connect, fakeClock()) });
}

function question(text: string): Statement {
  return { text, params: [], use: "rows" };
}

const isLost = { name: "ServiceError", message: /Database client error/ };

Deno.test("ProbeConnection.ask() gives each of several questions its own answer, on one connection", async () => {
  const { probe, opened } = fakeTarget();
  const texts = ["ask 1", "ask 2", "ask 3"];
  const answers = await Promise.all(texts.map((text) => probe.ask(question(text))));
  deepStrictEqual(answers, texts.map((text) => [text]));
  strictEqual(opened.length, 1);
});

Deno.test("ProbeConnection.reset() rejects the questions so far; later ones get their answers", async () => {
  const target = fakeTarget();
  target.answers = false;
  const { probe } = target;
  const asked = Promise.allSettled(["ask 1", "ask 2"].map((text) => probe.ask(question(text))));
  await settled();
  probe.reset();
  target.answers = true;
  const later = ["ask 3", "ask 4"].map((text) => probe.ask(question(text)));
  deepStrictEqual(await Promise.all(later), [["ask 3"], ["ask 4"]]);
  deepStrictEqual((await asked).map(({ status }) => status), ["rejected", "rejected"]);
  strictEqual(target.opened.length, 2);
});

Deno.test("ProbeConnection.close() rejects all questions, and opens no connection any more", async () => {
  const target = fakeTarget();
  target.answers = false;
  const { probe } = target;
  const asked = ["ask 1", "ask 2"].map((text) => rejects(probe.ask(question(text)), isLost));
  await settled();
  probe.close();
  await Promise.all(asked);
  await rejects(probe.ask(question("ask 3")), isLost);
  deepStrictEqual(target.opened.map(({ log }) => log), [["destroy"]]);
});
