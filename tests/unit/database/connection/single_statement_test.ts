import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { executeSingle } from "../../../../src/database/connection/single_statement.ts";
import type { ServerNotification } from "../../../../src/database/protocol/messages.ts";
import { Connection } from "../../../../src/database/connection/connection.ts";
import {
  cstring,
  failure,
  fakeServer,
  FakeTransport,
  frame,
  int32,
  join,
  row,
  terminated,
} from "../../../support/database/fake_backend.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** A connection for single statements, and its events. */
function opened() {
  const transport = new FakeTransport();
  const clock = fakeClock();
  const events: (string | ServerNotification)[] = [];
  const options = { prepare: false, sharesSession: false, preparedLimit: 0, clock };
  const connection = new Connection(transport, options, {
    closed: (reason) => void events.push(reason),
    notified: (notification) => void events.push(notification),
  });
  const execute = (text: string) => executeSingle(text, { connection, maxMs: 5000, clock });
  return { transport, clock, connection, events, execute };
}

/** A NotificationResponse. */
function notification(channel: string, payload: string): Uint8Array {
  return frame("A", int32(7), cstring(channel), cstring(payload));
}

Deno.test("executeSingle() sends a statement alone, and resolves with its rows", async () => {
  const { transport, execute } = opened();
  transport.reply = fakeServer({ rowsOf: () => row("t", null) });
  deepStrictEqual(await execute("select state"), [["t", null]]);
  deepStrictEqual(await execute("LISTEN svc"), [["t", null]]);
  const texts = transport.sent.map((sent) => sent.flatMap(({ text }) => text ?? []));
  deepStrictEqual(texts, [["select state"], ["LISTEN svc"]]);
});

Deno.test("executeSingle() rejects with the server's message, and keeps the connection", async () => {
  const { transport, connection, clock, execute } = opened();
  transport.reply = fakeServer({ errorOf: () => failure("0A000", "cannot execute LISTEN") });
  await rejects(execute("LISTEN svc"), { message: "cannot execute LISTEN" });
  strictEqual(connection.state, "idle");
  strictEqual(clock.next(), null);
});

Deno.test("executeSingle() closes the connection if no answer arrives in time", async () => {
  const { transport, events, clock, execute } = opened();
  const reason = "the server did not answer within 5 s";
  const answer = rejects(execute("LISTEN svc"), { message: reason });
  await clock.pass(4999);
  deepStrictEqual(events, []);
  await clock.pass(1);
  await answer;
  deepStrictEqual([transport.log, events], [["destroy"], [reason]]);
});

Deno.test("executeSingle() rejects with the reason for which the connection is closed", async () => {
  const { transport, connection, execute } = opened();
  const answer = execute("LISTEN svc");
  transport.lose("read ECONNRESET");
  await rejects(answer, { message: "read ECONNRESET" });
  const ended = opened();
  ended.transport.reply = () => terminated;
  const message = "connection closed by the server";
  const refused = rejects(ended.execute("LISTEN svc"), { message });
  await settled();
  ended.transport.lose(message);
  await refused;
  const closed = opened();
  const pending = closed.execute("LISTEN svc");
  closed.connection.destroy("the subscription was closed");
  await rejects(pending, { message: "the subscription was closed" });
  await rejects(executeSingle("select 1", { connection, maxMs: 1 }), /Database client error/);
});

Deno.test("Connection emits notifications while it is idle and while it is busy", async () => {
  const { transport, events, execute } = opened();
  const first = notification("svc", "reload schema");
  transport.tell(first.subarray(0, 9));
  deepStrictEqual(events, []);
  transport.tell(first.subarray(9));
  transport.reply = (sent) => join(notification('a "b', ""), fakeServer()(sent));
  await execute("LISTEN svc");
  transport.tell(terminated);
  deepStrictEqual(events, [
    { channel: "svc", payload: "reload schema" },
    { channel: 'a "b', payload: "" },
    "terminating connection due to administrator command",
  ]);
});
