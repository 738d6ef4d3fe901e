import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { ReadTransaction } from "../../../../src/database/transaction.ts";
import { LargeBodies } from "../../../../src/database/pool/concurrency_limiter.ts";
import {
  bindComplete,
  complete,
  join,
  longRow,
  parseComplete,
  ready,
} from "../../../support/database/fake_backend.ts";
import { settled } from "../../../support/timing/fake_clock.ts";
import { FakePool, reading, writing } from "../../../support/database/fake_pool.ts";

const framing = { separator: ",", closing: "]" };
const [statement] = reading.statements;
const unlimited: ReadTransaction = { ...reading, statements: [{ ...statement!, framing }] };
const megabyte = 1024 * 1024;

for (const [poolSize, connections] of [[1, 1], [2, 1], [3, 1], [4, 2], [10, 5]] as const) {
  Deno.test(`LargeBodies takes ${connections} of ${poolSize} connections`, () => {
    const bodies = new LargeBodies(poolSize);
    for (let count = 0; count < connections; count++) {
      strictEqual(bodies.hasRoom, true);
      bodies.acquire();
    }
    strictEqual(bodies.hasRoom, false);
    bodies.release();
    strictEqual(bodies.hasRoom, true);
  });
}

Deno.test("LargeBodies expects a large body by the last ones of its kind", () => {
  const bodies = new LargeBodies(10);
  const [transaction, other] = [{ ...unlimited, kind: {} }, { ...reading, kind: {} }];
  const expected = () => [bodies.isExpected(transaction), bodies.isExpected(other)];
  deepStrictEqual(expected(), [true, false]);
  bodies.record(transaction, megabyte);
  deepStrictEqual(expected(), [false, false]);
  bodies.record(other, megabyte + 1);
  deepStrictEqual(expected(), [false, true]);
  for (let count = 0; count < 99; count++) bodies.record(other, 0);
  deepStrictEqual(expected(), [false, true]);
  bodies.record(other, 0);
  deepStrictEqual(expected(), [false, false]);
});

Deno.test("LargeBodies expects none of writes, and of transactions of unknown kind", () => {
  const bodies = new LargeBodies(10);
  strictEqual(bodies.isExpected(unlimited), false);
  strictEqual(bodies.isExpected({ ...writing, statements: unlimited.statements, kind: {} }), false);
});

Deno.test("Pool keeps half of its connections free of large bodies", async () => {
  const fake = new FakePool({ max: 4 });
  await fake.openAll();
  const large = Array.from({ length: 3 }, () => fake.pool.transaction({ ...unlimited, kind: {} }));
  await settled();
  deepStrictEqual(fake.pool.counts(), { max: 4, open: 4, inUse: 2, waiting: 1, timeouts: 0 });
  const others = Array.from({ length: 3 }, () => fake.pool.transaction(reading));
  await settled();
  deepStrictEqual(fake.pool.counts(), { max: 4, open: 4, inUse: 4, waiting: 2, timeouts: 0 });
  await fake.serveAll();
  await Promise.all([...large, ...others]);
  strictEqual(fake.pool.counts().inUse, 0);
  await fake.close();
});

Deno.test("Pool frees the place of a large body whose connection is lost", async () => {
  const fake = new FakePool({ max: 2 });
  await fake.openAll();
  const transaction = { ...unlimited, retry: "never" as const };
  const first = fake.pool.transaction({ ...transaction, kind: {} });
  const second = fake.pool.transaction({ ...transaction, kind: {} });
  await settled();
  strictEqual(fake.pool.counts().waiting, 1);
  const busy = fake.transports.find(({ sent }) => sent.length === 2)!;
  busy.lose("reset");
  await first.catch(() => {});
  await settled();
  strictEqual(fake.pool.counts().waiting, 0);
  fake.replies.shift();
  await fake.serveAll();
  await second;
  await fake.close();
});

Deno.test("Pool learns from the length of a body that its kind is large", async () => {
  const fake = new FakePool({ max: 2 });
  await fake.openAll();
  const transaction = { ...reading, kind: {} };
  const first = fake.pool.transaction(transaction);
  await settled();
  fake.replies.shift();
  const transport = fake.transports.find(({ sent }) => sent.length === 2)!;
  transport.tell(join(parseComplete, bindComplete, longRow(2 * megabyte)));
  const { body } = await first;
  const text = new Response(body.content as ReadableStream<Uint8Array>).bytes();
  transport.tell(join(new Uint8Array(2 * megabyte), complete("SELECT 1"), ready("I")));
  strictEqual((await text).length, 2 * megabyte);
  const more = [fake.pool.transaction(transaction), fake.pool.transaction(transaction)];
  await settled();
  strictEqual(fake.pool.counts().waiting, 1);
  await fake.serveAll();
  await Promise.all(more);
  await fake.close();
});
