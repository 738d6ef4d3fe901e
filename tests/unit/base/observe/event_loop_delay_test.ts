import { ok } from "node:assert/strict";
import { EventLoopDelay } from "../../../../src/base/observe/event_loop_delay.ts";
import { MetricRegistry } from "../../../../src/base/observe/metric_registry.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";

Deno.test("EventLoopDelay shows the longest delay for one to two minutes", async () => {
  const clock = fakeClock();
  const registry = new MetricRegistry();
  let lateMs = 0;
  const delay = new EventLoopDelay((run, ms) => clock.schedule(run, ms + lateMs), clock.now);
  const shows = (seconds: string) =>
    ok(registry.text("svc").includes(`\nsvc_event_loop_delay_seconds ${seconds}\n`), seconds);
  lateMs = 250;
  delay.start(registry);
  lateMs = 0;
  shows("0.0");
  await clock.pass(1250);
  shows("0.25");
  await clock.pass(60_000);
  shows("0.25");
  await clock.pass(60_000);
  shows("0.0");
  delay.stop();
  ok(clock.next() === null);
});
