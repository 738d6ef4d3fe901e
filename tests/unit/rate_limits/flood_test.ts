/** A flood of addresses takes no memory. */
import { ok } from "node:assert/strict";

const program = `
import { Admission } from "${new URL("../../../src/rate_limits/rate_limiter.ts", import.meta.url)}";
import { prepareRateLimits } from "${new URL(
  "../../../src/rate_limits/prepare.ts",
  import.meta.url,
)}";

const limits = await prepareRateLimits({
  config: { rateLimits: "a: 5/1m by ip; b: 5/1m by token", mcpPath: null },
  previous: null,
  now: () => performance.now(),
  threads: 1,
});
const resource = { method: "GET", path: "/todos" };
function send(number) {
  const client = "10." + (number >> 16) + "." + (number >> 8 & 255) + "." + (number & 255);
  const admission = new Admission({ limits, onRefused() {}, client, resource });
  admission.chargeClient();
  admission.chargeIdentity({ role: "r", claims: "{}", token: number + ".signature" });
}
function used() {
  gc();
  const { heapUsed, external } = Deno.memoryUsage();
  return heapUsed + external;
}
for (let number = 0; number < 70_000; number++) send(number);
const before = used();
for (let number = 70_000; number < 1_010_000; number++) send(number);
console.log(used() - before);
`;

/** Bytes. */
const allowedGrowth = 4_000_000;

Deno.test("Admission keeps its memory under a million addresses and tokens", async () => {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--v8-flags=--expose-gc", "--no-check", "-A", "-"],
    cwd: new URL("../../../", import.meta.url).pathname,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(program));
  await writer.close();
  const { success, stdout, stderr } = await child.output();
  const [written, problem] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  ok(success, problem);
  ok(Number(written) < allowedGrowth, written);
});
