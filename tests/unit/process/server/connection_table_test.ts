import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Observation } from "../../../../src/base/observe/observation.ts";
import {
  type ConnectionLimits,
  ConnectionTable,
} from "../../../../src/process/server/connection_table.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** A table, and the names of the connections that it has closed. */
function tableWith(limits: Partial<ConnectionLimits>) {
  const clock = fakeClock();
  const closed: string[] = [];
  const events: string[] = [];
  const table = new ConnectionTable({
    limits: { keys: [], headerTimeoutMs: 0, idleTimeoutMs: 0, maxConnections: 0, ...limits },
    clock,
    observe: (event: Observation) =>
      void events.push("reason" in event ? `${event.kind} ${event.reason}` : event.kind),
  });
  return {
    clock,
    closed,
    events,
    table,
    open: (name: string) => table.add(() => void closed.push(name)),
  };
}

const second = 1000;

Deno.test("ConnectionTable closes a connection without a request after the header timeout", async () => {
  const { clock, closed, events, open, table } = tableWith({ headerTimeoutMs: 5 * second });
  open("a");
  await clock.pass(2 * second);
  const used = open("b");
  await clock.pass(2 * second);
  table.requestBegan(used);
  deepStrictEqual(closed, []);
  await clock.pass(second);
  deepStrictEqual(closed, ["a"]);
  await clock.pass(60 * second);
  deepStrictEqual([closed, table.size], [["a"], 1]);
  deepStrictEqual(events, ["connection-opened", "connection-opened", "connection-closed header"]);
});

Deno.test("ConnectionTable closes an idle connection, but none with an open request", async () => {
  const { clock, closed, events, open, table } = tableWith({ idleTimeoutMs: 5 * second });
  const connection = open("a");
  open("unused");
  table.requestBegan(connection);
  await clock.pass(10 * second);
  table.responded(connection);
  await clock.pass(10 * second);
  table.requestEnded(connection);
  await clock.pass(4 * second);
  table.requestBegan(connection);
  table.responded(connection);
  table.requestEnded(connection);
  await clock.pass(4 * second);
  deepStrictEqual(closed, []);
  await clock.pass(2 * second);
  deepStrictEqual(closed, ["a"]);
  strictEqual(events.at(-1), "connection-closed idle");
});

Deno.test("ConnectionTable waits for all streams of a connection", async () => {
  const { clock, closed, open, table } = tableWith({ idleTimeoutMs: second });
  const connection = open("a");
  table.requestBegan(connection);
  table.requestBegan(connection);
  table.responded(connection);
  table.requestEnded(connection);
  await clock.pass(10 * second);
  // The client resets the second stream before its handler responds.
  table.requestEnded(connection);
  await clock.pass(10 * second);
  deepStrictEqual(closed, []);
  table.responded(connection);
  await clock.pass(2 * second);
  deepStrictEqual(closed, ["a"]);
});

Deno.test("ConnectionTable schedules nothing without connections", async () => {
  const { clock, open, table } = tableWith({ headerTimeoutMs: second });
  strictEqual(clock.next(), null);
  const connection = open("a");
  strictEqual(clock.next(), second);
  table.remove(connection);
  strictEqual(clock.next(), null);
  open("b");
  await clock.pass(3 * second);
  strictEqual(clock.next(), null);
});

Deno.test("ConnectionTable.makeRoom() closes the connection without a request for longest", async () => {
  const { clock, closed, events, open, table } = tableWith({ maxConnections: 3 });
  const [first, , third] = [open("first"), open("second"), open("third")];
  await clock.pass(1);
  for (const connection of [third, first]) {
    table.requestBegan(connection);
    table.responded(connection);
    table.requestEnded(connection);
    await clock.pass(1);
  }
  for (const name of ["fourth", "fifth", "sixth"]) {
    await table.makeRoom();
    open(name);
    await clock.pass(1);
  }
  deepStrictEqual(closed, ["second", "third", "first"]);
  strictEqual(table.size, 3);
  strictEqual(events.filter((event) => event === "connection-closed limit").length, 3);
});

Deno.test("ConnectionTable.makeRoom() waits until a connection ends or becomes idle", async () => {
  const { closed, open, table } = tableWith({ maxConnections: 2 });
  const [first, second] = [open("first"), open("second")];
  for (const connection of [first, second]) table.requestBegan(connection);
  let hasRoom = false;
  const wait = () => {
    hasRoom = false;
    void table.makeRoom().then(() => hasRoom = true);
    return settled();
  };
  await wait();
  strictEqual(hasRoom, false);
  table.remove(first);
  await settled();
  strictEqual(hasRoom, true);
  deepStrictEqual(closed, []);
  table.requestBegan(open("third"));
  await wait();
  strictEqual(hasRoom, false);
  table.responded(second);
  await settled();
  strictEqual(hasRoom, false);
  table.requestEnded(second);
  await settled();
  deepStrictEqual([hasRoom, closed], [true, ["second"]]);
});

Deno.test("ConnectionTable.makeRoom() closes a response that is not read for long", async () => {
  const { clock, closed, open, table } = tableWith({ maxConnections: 2 });
  const [reading, working] = [open("reading"), open("working")];
  table.requestBegan(reading);
  table.requestBegan(working);
  table.responded(reading);
  let hasRoom = false;
  void table.makeRoom().then(() => hasRoom = true);
  await clock.pass(29 * second);
  deepStrictEqual([hasRoom, closed], [false, []]);
  await clock.pass(2 * second);
  deepStrictEqual([hasRoom, closed], [true, ["reading"]]);
  // The runtime says afterwards that the response cannot be sent, and that the connection has ended.
  table.requestEnded(reading);
  table.remove(reading);
  strictEqual(table.size, 1);
});

Deno.test("ConnectionTable.closeSoon() closes a connection after its responses", async () => {
  const { clock, closed, events, open, table } = tableWith({});
  const [early, late] = [open("early"), open("late")];
  for (const connection of [early, late]) table.requestBegan(connection);
  table.closeSoon(early);
  table.responded(early);
  await clock.pass(10 * second);
  deepStrictEqual(closed, []);
  table.requestEnded(early);
  table.responded(late);
  table.requestEnded(late);
  await clock.pass(2 * second);
  deepStrictEqual(closed, ["early"]);
  // The rest of the body did not arrive.
  table.closeSoon(late);
  await clock.pass(2 * second);
  deepStrictEqual(closed, ["early", "late"]);
  strictEqual(events.filter((event) => event === "connection-closed body").length, 2);
});

Deno.test("ConnectionTable ignores requests of a connection that has ended", async () => {
  const { clock, closed, open, table } = tableWith({ maxConnections: 1, idleTimeoutMs: second });
  const connection = open("a");
  table.requestBegan(connection);
  table.remove(connection);
  table.requestEnded(connection);
  table.responded(connection);
  await clock.pass(10 * second);
  await table.makeRoom();
  deepStrictEqual([closed, table.size], [[], 0]);
});

Deno.test("ConnectionTable.makeRoom() leaves a second to a connection that is closing", async () => {
  const { clock, closed, open, table } = tableWith({ maxConnections: 1 });
  const connection = open("a");
  table.requestBegan(connection);
  const room = table.makeRoom();
  strictEqual(table.isContended, true);
  table.closeSoon(connection);
  table.responded(connection);
  table.requestEnded(connection);
  await settled();
  deepStrictEqual(closed, []);
  await clock.pass(2 * second);
  await room;
  deepStrictEqual([closed, table.isContended], [["a"], false]);
});
