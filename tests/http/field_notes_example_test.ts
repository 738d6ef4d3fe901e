/** `examples/field_notes`: devices that change notes offline, and agree afterwards. */
import { deepStrictEqual, rejects } from "node:assert/strict";
import { Device } from "../../examples/field_notes/device.ts";
import { createHandler } from "../../mod.ts";
import { seededRandom } from "../support/random.ts";

const origin = "http://localhost:3000";

Deno.test("the example's devices agree after they were offline", async () => {
  const handler = createHandler({
    dbUri: "pglite://memory",
    dbSchemas: ["api"],
    dbAnonRole: "device",
    embeddedInit: await Deno.readTextFile(
      new URL("../../examples/field_notes/notes.sql", import.meta.url),
    ),
  });
  try {
    let [time, isOffline] = [0, false];
    const now = () => new Date(Date.UTC(2024, 0, 1, 0, 0, ++time));
    const send = async (request: Request) => {
      if (isOffline) throw new TypeError("offline");
      return await handler(request);
    };
    const devices = Array.from({ length: 3 }, () => new Device(origin, send, now));
    const [first, second, third] = devices as [Device, Device, Device];
    const id = first.write("milk");
    await first.synchronize();
    await second.synchronize();
    deepStrictEqual([...second.notes], [[id, "milk"]]);
    // Both change the note offline. The later change stays, whoever sends it first.
    first.write("milk and eggs", id);
    second.write("oat milk", id);
    isOffline = true;
    await rejects(first.synchronize(), /offline/);
    isOffline = false;
    await second.synchronize();
    await first.synchronize();
    deepStrictEqual([first.notes.get(id), second.notes.get(id)], ["oat milk", "oat milk"]);
    first.delete(id);
    await first.synchronize();
    await second.synchronize();
    deepStrictEqual([first.notes.size, second.notes.size], [0, 0]);
    // Any order of changes and attempts ends alike on all devices.
    const random = seededRandom(7);
    const ids = Array.from({ length: 250 }, () => crypto.randomUUID());
    for (let step = 0; step < 600; step++) {
      const device = random.pick(devices);
      const chosen = random.pick(ids);
      if (random.below(5) === 0) device.delete(chosen);
      else device.write(`text ${step}`, chosen);
      if (random.below(40) === 0) await device.synchronize();
    }
    for (const device of [...devices, ...devices]) await device.synchronize();
    const sorted = (device: Device) => [...device.notes].sort();
    deepStrictEqual(sorted(first), sorted(second));
    deepStrictEqual(sorted(second), sorted(third));
  } finally {
    await handler.close();
  }
});
