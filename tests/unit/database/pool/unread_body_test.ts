import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { BodySpool } from "../../../../src/base/lib/body_spool.ts";
import { SpoolSpace } from "../../../../src/base/lib/spool_file.ts";
import {
  bindComplete,
  complete,
  join,
  longRow,
  parseComplete,
  ready,
} from "../../../support/database/fake_backend.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import { codeOf, outcomesOf } from "../../../support/database/fake_connection.ts";
import { FakePool, reading } from "../../../support/database/fake_pool.ts";

/** Starts a body, of which nothing has come. */
async function startBody(fake: FakePool, bytes = 100_000_000) {
  const promise = fake.pool.transaction(reading);
  await settled();
  fake.replies.shift();
  fake.transports[0]!.tell(join(parseComplete, bindComplete, longRow(bytes)));
  return (await promise).body.content as ReadableStream<Uint8Array>;
}

const stalls: readonly (readonly [name: string, isContended: boolean, ms: number])[] = [
  ["3 seconds while others wait", true, 4000],
  ["30 seconds while none waits", false, 31_000],
];

for (const [name, isContended, ms] of stalls) {
  Deno.test(`Pool closes a connection whose body is not read for ${name}`, async () => {
    const fake = new FakePool();
    const body = await startBody(fake);
    fake.transports[0]!.tell(new Uint8Array(1_000_000));
    const others = isContended ? [fake.pool.transaction(reading)] : [];
    await fake.clock.pass(ms - 1000);
    deepStrictEqual(fake.transports[0]!.log, ["pause"]);
    await fake.clock.pass(1000);
    deepStrictEqual(fake.transports[0]!.log, ["pause", "destroy"]);
    await rejects(new Response(body).bytes());
    await fake.serveAll();
    deepStrictEqual(await outcomesOf(others), others.map(() => "1"));
    await fake.close();
  });
}

Deno.test("Pool closes the connection whose body is read most slowly when a transaction waits for long", async () => {
  const fake = new FakePool({ acquisitionTimeoutMs: 6000 });
  const reader = (await startBody(fake)).getReader();
  const waiting = fake.pool.transaction(reading);
  for (let turn = 0; turn < 11; turn++) {
    fake.transports[0]!.tell(new Uint8Array(1_000_000));
    await fake.clock.pass(390);
    reader.read().catch(() => {});
    await settled();
  }
  strictEqual(fake.transports[0]!.log.at(-1), "destroy");
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([waiting]), ["1"]);
  strictEqual(await reader.closed.catch(codeOf), "001");
  await fake.close();
});

Deno.test("Pool spools the body of a slow reader, and gives its connection to others", async () => {
  const spool = new BodySpool({ space: new SpoolSpace(), maxFileBytes: 0, openFile: null });
  const fake = new FakePool({ spool });
  const [transport, body] = [fake.transports, await startBody(fake, 1_000_000)];
  transport[0]!.tell(new Uint8Array(500_000));
  deepStrictEqual(transport[0]!.log, ["pause"]);
  await fake.clock.pass(40);
  deepStrictEqual(transport[0]!.log, ["pause", "resume"]);
  transport[0]!.tell(new Uint8Array(500_000));
  const waiting = fake.pool.transaction(reading);
  transport[0]!.tell(join(complete("SELECT 1"), ready("I")));
  await settled();
  await fake.serveAll();
  deepStrictEqual(await outcomesOf([waiting]), ["1"]);
  strictEqual(fake.transports.length, 1);
  strictEqual(spool.taken.memoryBytes, 1_000_000);
  strictEqual((await new Response(body).bytes()).length, 1_000_000);
  strictEqual(spool.taken.memoryBytes, 0);
  await fake.close();
});

Deno.test("Pool spools 2 MiB with each check, and does not count that as waiting for a reader", async () => {
  const spool = new BodySpool({ space: new SpoolSpace(), maxFileBytes: 0, openFile: null });
  const fake = new FakePool({ spool });
  const body = await startBody(fake, 100_000_000);
  const transport = fake.transports[0]!;
  const waiting = fake.pool.transaction(reading);
  transport.tell(new Uint8Array(500_000));
  await fake.clock.pass(20);
  for (let check = 1; check <= 3; check++) {
    strictEqual(transport.log.at(-1), "resume");
    transport.tell(new Uint8Array(2 * 1024 * 1024));
    strictEqual(transport.log.at(-1), "pause");
    strictEqual(spool.taken.memoryBytes, 500_000 + check * 2 * 1024 * 1024);
    await fake.clock.pass(10);
  }
  transport.tell(new Uint8Array(3_000_000));
  await fake.clock.pass(4000);
  strictEqual(transport.log.at(-1), "destroy");
  await rejects(new Response(body).bytes());
  await fake.serveAll();
  await waiting;
  await fake.close();
});

Deno.test("Pool spools no body of a reader that keeps up", async () => {
  const spool = new BodySpool({ space: new SpoolSpace(), maxFileBytes: 0, openFile: null });
  const fake = new FakePool({ spool });
  const reader = (await startBody(fake, 10_000_000)).getReader();
  for (let turn = 0; turn < 20; turn++) {
    fake.transports[0]!.tell(new Uint8Array(300_000));
    await fake.clock.pass(10);
    await reader.read();
    await settled();
  }
  deepStrictEqual(fake.transports[0]!.log.length, 40);
  strictEqual(spool.taken.memoryBytes, 0);
  await reader.cancel();
  await fake.close();
});
