import { rejects, strictEqual } from "node:assert/strict";
import { FallbackSlots } from "../../../../src/database/replicas/fallback_slots.ts";
import { ServiceError } from "../../../../src/errors/service_error.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

const isFull = (error: unknown) => error instanceof ServiceError && error.fields.code === "135";

Deno.test("FallbackSlots.acquire() gives a slot to the read that has waited longest", async () => {
  const clock = fakeClock();
  const slots = new FallbackSlots(1, clock);
  await slots.acquire(100);
  const order: number[] = [];
  for (const read of [1, 2]) void slots.acquire(100).then(() => order.push(read));
  slots.release();
  await settled();
  strictEqual(order.join(), "1");
  slots.release();
  await settled();
  strictEqual(order.join(), "1,2");
  strictEqual(clock.next(), null);
});

Deno.test("FallbackSlots.acquire() rejects when the wait is over, and gives the slot to others", async () => {
  const clock = fakeClock();
  const slots = new FallbackSlots(1, clock);
  await slots.acquire(100);
  const late = rejects(slots.acquire(100), isFull);
  await clock.pass(100);
  await late;
  slots.release();
  await slots.acquire(0);
});
