import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import {
  type BudgetedPool,
  ConnectionBudget,
  type ConnectionShare,
} from "../../../../src/database/pool/connection_budget.ts";
import type { Transport, TransportEvents } from "../../../../src/database/transport.ts";
import { settled } from "../../../support/fake_clock.ts";

/** A transport that does nothing; `fail` closes it from the server's side. */
class IdleTransport implements Transport {
  fail = () => {};
  listen(events: TransportEvents): void {
    this.fail = () => events.closed("lost");
  }
  write(): void {}
  pause(): void {}
  resume(): void {}
  cancel(): void {}
  end(): void {}
  destroy(): void {}
}

const ignored: TransportEvents = { data: () => {}, closed: () => {} };

/** Opens a connection of a share. */
async function connect(share: ConnectionShare, inner = new IdleTransport()): Promise<Transport> {
  const transport = await share.connect(() => Promise.resolve(inner));
  transport.listen(ignored);
  return transport;
}

/** A pool with one idle connection. */
function idlePool(since: number, transport: Transport): BudgetedPool {
  let idleSince: number | null = since;
  return {
    idleSince: () => idleSince,
    closeIdle: () => {
      idleSince = null;
      transport.end();
    },
  };
}

Deno.test("ConnectionBudget counts a connection until it ends, once", async () => {
  const budget = new ConnectionBudget(3);
  const share = budget.share();
  const inner = new IdleTransport();
  const lost = await connect(share, inner);
  const ended = await connect(share);
  const destroyed = await connect(share);
  strictEqual(budget.open, 3);
  inner.fail();
  lost.destroy();
  ended.end();
  destroyed.destroy();
  destroyed.end();
  strictEqual(budget.open, 0);
});

Deno.test("ConnectionBudget frees the room of a connection that fails", async () => {
  const budget = new ConnectionBudget(1);
  const share = budget.share();
  await rejects(share.connect(() => Promise.reject(new Error("refused"))), { message: "refused" });
  strictEqual(budget.open, 0);
  await connect(share);
});

Deno.test("ConnectionBudget closes the connection that has been idle for longest", async () => {
  const budget = new ConnectionBudget(2);
  const [old, recent, third] = [budget.share(), budget.share(), budget.share()];
  const oldPool = idlePool(10, await connect(old));
  const recentPool = idlePool(20, await connect(recent));
  old.attach(oldPool);
  recent.attach(recentPool);
  await connect(third);
  deepStrictEqual([oldPool.idleSince(), recentPool.idleSince()], [null, 20]);
});

Deno.test("ConnectionBudget gives room in the order of arrival", async () => {
  const budget = new ConnectionBudget(1);
  const [first, second, third] = [budget.share(), budget.share(), budget.share()];
  const open = await connect(first);
  const order: string[] = [];
  const waiting = [second, third].map((share, at) =>
    connect(share).then((transport) => {
      order.push(`share ${at + 2}`);
      transport.end();
    })
  );
  await settled();
  deepStrictEqual(order, []);
  open.end();
  await Promise.all(waiting);
  deepStrictEqual(order, ["share 2", "share 3"]);
});

Deno.test("ConnectionBudget claims a spare connection, and a needed one for a pool with fewer", async () => {
  const budget = new ConnectionBudget(2);
  const [rich, poor] = [budget.share(), budget.share()];
  const kept = [await connect(rich), await connect(rich)];
  strictEqual(rich.isClaimed("spare"), false);
  const waiting = connect(poor);
  deepStrictEqual([rich.isClaimed("needed"), rich.isClaimed("spare")], [true, true]);
  kept[0]!.end();
  await waiting;
  const more = connect(poor);
  deepStrictEqual([rich.isClaimed("needed"), rich.isClaimed("spare")], [false, true]);
  strictEqual(poor.isClaimed("spare"), false);
  poor.close();
  await rejects(more, { message: "the database was closed" });
  strictEqual(rich.isClaimed("spare"), false);
});

Deno.test("ConnectionBudget claims spare connections for a pool that waits behind their own", async () => {
  const budget = new ConnectionBudget(1);
  const [first, second] = [budget.share(), budget.share()];
  const open = await connect(first);
  const [own, other] = [connect(first), connect(second)];
  strictEqual(first.isClaimed("spare"), true);
  open.end();
  const stale = await own;
  strictEqual(first.isClaimed("spare"), true);
  stale.end();
  await other;
});
