import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import type { Transaction } from "../../../../src/database/transaction.ts";
import { Pool } from "../../../../src/database/pool/pool.ts";
import {
  failure,
  fakeServer,
  FakeTransport,
  type Sent,
  terminated,
} from "../../../support/database/fake_backend.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";
import {
  type FakeCaller,
  fakeCaller,
  reading,
  writing,
} from "../../../support/database/fake_pool.ts";

/** What a transaction of the test is, and what became of it. */
interface Tracked {
  readonly isWrite: boolean;
  readonly caller: FakeCaller;
  executions: number;
  outcome: "waits" | "resolved" | "rejected";
}

/** A server process, which executes one transaction after the other. */
interface Backend {
  readonly transport: FakeTransport;
  readonly transactions: (readonly Sent[])[];
  readonly answer: (sent: readonly Sent[]) => Uint8Array;
}

/** A pool before servers that count how often they execute each transaction. */
class Simulation {
  readonly clock = fakeClock();
  readonly backends: Backend[] = [];
  readonly tracked: Tracked[] = [];
  readonly #kinds = [{}, {}, null];
  readonly #texts = new Map<string, Tracked>();
  isRefusing = false;
  readonly pool = new Pool({
    max: 3,
    acquisitionTimeoutMs: 1000,
    maxIdleTimeMs: 5000,
    maxLifetimeMs: 20_000,
    prepare: true,
    preparedLimit: 5,
    setup: "set jit = off",
    clock: this.clock,
    connect: () => this.#connect(),
  });

  #connect(): Promise<FakeTransport> {
    if (this.isRefusing) return Promise.reject(new Error("refused"));
    const transport = new FakeTransport();
    const transactions: Sent[][] = [];
    const answer = fakeServer({
      rowsOf: () => null,
      errorOf: (text) => {
        const tracked = this.#texts.get(text);
        if (tracked !== undefined) tracked.executions++;
        return text.endsWith("fails") ? failure("22P02", "no number") : null;
      },
    });
    transport.reply = (sent) => {
      const transaction: Sent[] = [];
      for (const message of sent) {
        transaction.push(message);
        if (message.type === "S") transactions.push(transaction.splice(0));
      }
      return null;
    };
    this.backends.push({ transport, transactions, answer });
    return Promise.resolve(transport);
  }

  send(isWrite: boolean, kind: number, fails: boolean): void {
    const text = `select ${this.tracked.length}${fails ? " fails" : ""}`;
    const caller = fakeCaller();
    const tracked: Tracked = { isWrite, caller, executions: 0, outcome: "waits" };
    this.tracked.push(tracked);
    this.#texts.set(text, tracked);
    const settings = { text: "select settings", params: [], use: "none" } as const;
    const transaction: Transaction = {
      ...(isWrite ? writing : reading),
      kind: this.#kinds[kind]!,
      statements: [settings, { text, params: [], use: "none", runsUserCode: isWrite }],
    };
    this.pool.transaction(transaction, caller).then(
      () => this.#settle(tracked, "resolved"),
      () => this.#settle(tracked, "rejected"),
    );
  }

  #settle(tracked: Tracked, outcome: "resolved" | "rejected"): void {
    strictEqual(tracked.outcome, "waits");
    if (outcome === "resolved") ok(tracked.executions > 0, "resolved without being executed");
    tracked.outcome = outcome;
  }

  /** Has the pool learn that the kinds are short. */
  async learnKinds(): Promise<void> {
    for (const kind of [0, 0, 1, 1]) {
      this.send(false, kind, false);
      await settled();
      this.serve(0);
      await settled();
    }
  }

  /** Has a server execute its next transaction. */
  serve(index: number): void {
    const busy = this.backends.filter(({ transactions }) => transactions.length > 0);
    const backend = busy[index % busy.length];
    if (backend === undefined) return;
    backend.transport.tell(backend.answer(backend.transactions.shift()!));
  }

  /** The client loses its connection; the server executes all the same what it has received. */
  lose(index: number): void {
    const backend = this.backends[index % this.backends.length];
    if (backend === undefined) return;
    backend.transport.lose("reset");
    for (const transaction of backend.transactions.splice(0)) backend.answer(transaction);
  }

  /** The server ends the connection and executes nothing more. */
  terminate(index: number): void {
    const backend = this.backends[index % this.backends.length];
    if (backend === undefined) return;
    backend.transactions.splice(0);
    backend.transport.tell(terminated);
    backend.transport.lose("reset");
  }

  async end(): Promise<void> {
    this.isRefusing = false;
    let isClosed = false;
    const closed = this.pool.close().then(() => isClosed = true);
    for (let turn = 0; turn < 2000 && !isClosed; turn++) {
      this.serve(turn);
      await settled();
    }
    await closed;
    strictEqual(this.clock.next(), null, "a timer is left");
    deepStrictEqual(this.pool.counts().open, 0);
    for (const { isWrite, executions, outcome } of this.tracked) {
      ok(outcome !== "waits", "a transaction was never settled");
      if (isWrite) ok(executions <= 1, `a write was executed ${executions} times`);
    }
  }
}

type Action = (simulation: Simulation) => void | Promise<void>;

const number = fc.nat(100);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(fc.boolean(), fc.nat(2), fc.array(fc.nat(9), { maxLength: 6 })).map((
      [isWrite, kind, transactions],
    ): Action =>
    (simulation) => {
      for (const dice of transactions) simulation.send(isWrite, kind, dice === 0);
    }),
  },
  { weight: 24, arbitrary: number.map((index): Action => (simulation) => simulation.serve(index)) },
  { weight: 1, arbitrary: number.map((index): Action => (simulation) => simulation.lose(index)) },
  {
    weight: 1,
    arbitrary: number.map((index): Action => (simulation) => simulation.terminate(index)),
  },
  {
    weight: 2,
    arbitrary: number.map((index): Action => ({ tracked }) =>
      tracked[index % Math.max(1, tracked.length)]?.caller.leave()
    ),
  },
  {
    weight: 4,
    arbitrary: fc.constantFrom(0.01, 0.3, 11, 60, 300, 1100).map((ms): Action => ({ clock }) =>
      clock.pass(ms)
    ),
  },
  { weight: 1, arbitrary: fc.constant<Action>(({ pool }) => pool.flush()) },
  {
    weight: 1,
    arbitrary: fc.constant<Action>((simulation) => {
      simulation.isRefusing = !simulation.isRefusing;
    }),
  },
);

Deno.test("Pool settles each transaction once and has no write executed twice, whatever happens", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { minLength: 20, maxLength: 150, size: "max" }),
      async (actions) => {
        const simulation = new Simulation();
        await simulation.learnKinds();
        for (const act of actions) {
          await act(simulation);
          if (actions.indexOf(act) % 3 === 0) await settled();
        }
        await simulation.end();
      },
    ),
    { numRuns: 200 },
  );
});
