import { deepStrictEqual, strictEqual } from "node:assert/strict";
import type { Subscription, SubscriptionEvents } from "../../../../src/database/database.ts";
import { Listener, type ListenerOptions } from "../../../../src/database/notifications/listener.ts";
import { NotificationProbe } from "../../../../src/database/notifications/notification_probe.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** One call of `subscribe`, answered when the test says so. */
interface Attempt {
  readonly channel: string;
  readonly events: SubscriptionEvents;
  readonly succeed: () => Promise<void>;
  readonly fail: (reason: string) => Promise<void>;
  closed: boolean;
}

function controlled(options: Partial<ListenerOptions> = {}) {
  const attempts: Attempt[] = [];
  const told: string[] = [];
  const clock = fakeClock();
  const listener = new Listener({
    notifications: {
      subscribe: (channel, events) =>
        new Promise<Subscription>((resolve, reject) => {
          const attempt: Attempt = {
            channel,
            events,
            succeed: () => {
              const close = () => {
                attempt.closed = true;
                return Promise.resolve();
              };
              resolve({ version: "PostgreSQL 18", place: "h:1", close });
              return settled();
            },
            fail: (reason) => {
              reject(new Error(reason));
              return settled();
            },
            closed: false,
          };
          attempts.push(attempt);
        }),
    },
    onReloadRequested: (what) => void told.push(`load ${what}`),
    probe: null,
    onMissed: () => void told.push("missed"),
    onProbed: (result, channel) => void told.push(`${result} ${channel}`),
    isRetried: () => true,
    onBrokenQueue: () => void told.push("read the queue"),
    observe: (event) => void told.push(event.kind),
    now: clock.now,
    schedule: clock.schedule,
    ...options,
  });
  const take = () => told.splice(0);
  return { listener, attempts, take, clock };
}

const payloads: readonly (readonly [payload: string, told: readonly string[]])[] = [
  ["", ["reload-requested", "load schema"]],
  ["reload schema", ["reload-requested", "load schema"]],
  ["reload config", ["reload-requested", "load config"]],
  ["reload revocations", ["load revocations"]],
  ["Reload schema", []],
  [" reload schema", []],
  ["reload schema\n", []],
  ["reload", []],
  ["x", []],
];

for (const [payload, expected] of payloads) {
  Deno.test(`Listener takes ${JSON.stringify(payload)} for ${expected.at(-1) ?? "no request"}`, async () => {
    const { listener, attempts, take } = controlled();
    listener.configure("svc");
    await attempts[0]!.succeed();
    deepStrictEqual(take(), ["listener-connected"]);
    attempts[0]!.events.notified(payload);
    deepStrictEqual(take(), expected);
  });
}

Deno.test("Listener comes back after 1, 2, 4 … 32 seconds, and tells that something may be missed", async () => {
  const { listener, attempts, take, clock } = controlled();
  listener.configure("svc");
  for (const seconds of [1, 2, 4, 8, 16, 32, 32]) {
    await attempts.at(-1)!.fail("no");
    deepStrictEqual(take(), ["listener-failed", "listener-retrying"]);
    deepStrictEqual([listener.hasChannel, listener.isConnected], [true, false]);
    strictEqual(listener.secondsLeft(), seconds);
    strictEqual(clock.next(), seconds * 1000);
    const before = attempts.length;
    await clock.pass(seconds * 1000);
    strictEqual(attempts.length, before + 1);
  }
  await attempts.at(-1)!.succeed();
  deepStrictEqual(take(), ["listener-connected", "missed"]);
  deepStrictEqual([listener.isConnected, listener.secondsLeft()], [true, null]);
  attempts.at(-1)!.events.lost("gone");
  deepStrictEqual(take(), ["listener-failed", "listener-retrying"]);
  deepStrictEqual([listener.isConnected, listener.secondsLeft()], [false, 1]);
  attempts.at(-1)!.events.lost("gone again");
  deepStrictEqual(take(), []);
});

Deno.test("Listener misses nothing when the first attempt succeeds", async () => {
  const { listener, attempts, take } = controlled();
  listener.configure("svc");
  await attempts[0]!.succeed();
  deepStrictEqual(take(), ["listener-connected"]);
});

Deno.test("Listener is switched off and on, and misses what came meanwhile", async () => {
  const { listener, attempts, take } = controlled();
  listener.configure("svc");
  await attempts[0]!.succeed();
  listener.configure("svc");
  strictEqual(attempts.length, 1);
  listener.configure(null);
  await settled();
  deepStrictEqual([attempts[0]!.closed, listener.hasChannel], [true, false]);
  take();
  attempts[0]!.events.notified("");
  attempts[0]!.events.lost("gone");
  deepStrictEqual(take(), []);
  listener.configure("svc");
  await attempts[1]!.succeed();
  deepStrictEqual(take(), ["listener-connected", "missed"]);
});

Deno.test("Listener that begins switched off misses what came before", async () => {
  const { listener, attempts, take } = controlled();
  listener.configure(null);
  listener.configure("svc");
  await attempts[0]!.succeed();
  deepStrictEqual(take(), ["listener-connected", "missed"]);
});

Deno.test("Listener takes another channel at once, whatever it is at", async () => {
  const { listener, attempts, take, clock } = controlled();
  listener.configure("one");
  listener.configure("two");
  await attempts[0]!.succeed();
  deepStrictEqual([attempts[0]!.closed, take()], [true, []]);
  await attempts[1]!.fail("no");
  take();
  listener.configure("three");
  deepStrictEqual(attempts.map(({ channel }) => channel), ["one", "two", "three"]);
  strictEqual(clock.next(), null);
  await attempts[2]!.succeed();
  deepStrictEqual(take(), ["listener-connected", "missed"]);
});

Deno.test("Listener tries nothing again where that is not wanted", async () => {
  const reasons: string[] = [];
  const { listener, attempts, take, clock } = controlled({
    isRetried: (reason) => reasons.push(reason) === 0,
  });
  listener.configure("svc");
  await attempts[0]!.fail("no");
  deepStrictEqual([take(), clock.next(), reasons], [["listener-failed"], null, ["no"]]);
});

Deno.test("Listener has a broken queue read", async () => {
  const { listener, attempts, take } = controlled();
  listener.configure("svc");
  await attempts[0]!.fail("could not access status of transaction 7");
  deepStrictEqual(take(), [
    "listener-failed",
    "notification-queue-broken",
    "read the queue",
    "listener-retrying",
  ]);
});

Deno.test("Listener.stop closes what is open, and what opens later", async () => {
  const { listener, attempts, clock } = controlled();
  listener.configure("one");
  await attempts[0]!.succeed();
  listener.configure("two");
  const stopped = listener.stop();
  await attempts[1]!.succeed();
  await stopped;
  deepStrictEqual(attempts.map(({ closed }) => closed), [true, true]);
  listener.configure("three");
  deepStrictEqual([attempts.length, clock.next()], [2, null]);
});

Deno.test("Listener.stop does not wait long for a connection that does not come", async () => {
  const { listener, attempts, clock } = controlled();
  listener.configure("one");
  let stopped = false;
  listener.stop().then(() => stopped = true);
  await clock.pass(499);
  strictEqual(stopped, false);
  await clock.pass(1);
  strictEqual(stopped, true);
  await attempts[0]!.succeed();
  strictEqual(attempts[0]!.closed, true);
});

/** A listener whose probes are sent when the test says so. */
function probing() {
  const sent: { readonly payload: string; readonly settle: (error?: Error) => Promise<void> }[] =
    [];
  const clock = fakeClock();
  const probe = new NotificationProbe({
    notify: (channel, payload) =>
      new Promise((resolve, reject) => {
        const settle = (error?: Error) => {
          if (error === undefined) resolve();
          else reject(error);
          return settled();
        };
        sent.push({ payload: `${channel}: ${payload}`, settle });
      }),
    makeNonce: () => `nonce ${sent.length}`,
    schedule: clock.schedule,
  });
  return { ...controlled({ probe, now: clock.now, schedule: clock.schedule }), sent, clock };
}

const own = "svc-probe nonce 0";

/** What happens after LISTEN, in order, and the results that are reported. */
const probes: readonly (readonly [
  label: string,
  steps: readonly ("sent" | "failed" | "5 seconds" | "4 seconds" | "lost" | "off" | string)[],
  told: readonly string[],
])[] = [
  ["nothing arrives", ["sent", "5 seconds"], ["lost svc"]],
  ["nothing arrives, and nothing more is told", ["sent", "5 seconds", "5 seconds"], ["lost svc"]],
  ["nothing has arrived yet", ["sent", "4 seconds"], []],
  ["it arrives", ["sent", own, "5 seconds"], ["arrived svc"]],
  ["it arrives in time", ["sent", "4 seconds", own, "4 seconds"], ["arrived svc"]],
  ["it arrives before its sender knows", [own, "sent", "5 seconds"], ["arrived svc"]],
  ["another one's probe arrives", ["sent", "svc-probe other", "5 seconds"], ["lost svc"]],
  ["it cannot be sent", ["failed", "5 seconds"], []],
  ["it is not sent", ["5 seconds"], []],
  ["the connection is lost", ["sent", "lost", "4 seconds"], []],
  ["the listener is switched off", ["sent", "off", "5 seconds"], []],
  ["the listener is switched off while it is sent", ["off", "sent", "5 seconds"], []],
];

for (const [label, steps, expected] of probes) {
  Deno.test(`Listener checks that notifications arrive: ${label}`, async () => {
    const { listener, attempts, take, clock, sent } = probing();
    listener.configure("svc");
    await attempts[0]!.succeed();
    deepStrictEqual(sent.map(({ payload }) => payload), [`svc: ${own}`]);
    take();
    for (const step of steps) {
      const seconds = / seconds$/.test(step) ? parseInt(step) : null;
      if (seconds !== null) await clock.pass(seconds * 1000);
      else if (step === "sent") await sent[0]!.settle();
      else if (step === "failed") await sent[0]!.settle(new Error("no"));
      else if (step === "lost") attempts[0]!.events.lost("gone");
      else if (step === "off") listener.configure(null);
      else attempts[0]!.events.notified(step);
    }
    deepStrictEqual(take().filter((text) => !text.startsWith("listener-")), expected);
  });
}

Deno.test("Listener checks each connection anew", async () => {
  const { listener, attempts, take, clock, sent } = probing();
  listener.configure("svc");
  await attempts[0]!.succeed();
  await sent[0]!.settle();
  attempts[0]!.events.lost("gone");
  await clock.pass(1000);
  await attempts[1]!.succeed();
  strictEqual(sent[1]!.payload, "svc: svc-probe nonce 1");
  await sent[1]!.settle();
  attempts[1]!.events.notified(own);
  await clock.pass(5000);
  strictEqual(take().at(-1), "lost svc");
});

Deno.test("Listener.stop waits for a probe that is being sent", async () => {
  const { listener, attempts, clock, sent } = probing();
  listener.configure("svc");
  await attempts[0]!.succeed();
  let stopped = false;
  const stopping = listener.stop().then(() => stopped = true);
  await settled();
  strictEqual(stopped, false);
  await sent[0]!.settle();
  await stopping;
  strictEqual(clock.next(), null);
});

Deno.test("Listener.retryNow() makes the next attempt at once, and lostForMs counts from the loss", async () => {
  const { listener, attempts, clock } = controlled();
  listener.retryNow();
  listener.configure("svc");
  strictEqual(listener.lostForMs, Infinity);
  await attempts[0]!.succeed();
  strictEqual(listener.lostForMs, 0);
  attempts[0]!.events.lost("gone");
  await clock.pass(400);
  strictEqual(listener.lostForMs, 400);
  listener.retryNow();
  strictEqual(attempts.length, 2);
  await clock.pass(5000);
  strictEqual(attempts.length, 2);
  await attempts[1]!.succeed();
  strictEqual(listener.lostForMs, 0);
});
