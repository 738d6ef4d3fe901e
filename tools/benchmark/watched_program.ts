/** The service's program beside a timer that reports each time the event loop was held. @module */
import { main as program } from "../../src/server/program.ts";

/** Period of the timer. */
const periodMs = 2;
/** Shorter delays of the timer are not reported. */
const minHeldMs = 5;

/** Runs the program. */
export function main(argv: readonly string[]): Promise<number> {
  const processorWait = processorWaitOf("worker-1");
  let [last, lastWait] = [performance.now(), processorWait()];
  const timer = setInterval(() => {
    const [now, wait] = [performance.now(), processorWait()];
    const heldMs = now - last - periodMs;
    if (heldMs >= minHeldMs) report(heldMs, wait - lastWait);
    [last, lastWait] = [now, wait];
  }, periodMs);
  Deno.unrefTimer(timer);
  return program(argv);
}

/** Returns a function that reads for how many milliseconds a thread has waited for a processor. */
function processorWaitOf(thread: string): () => number {
  const folder = "/proc/self/task";
  for (const { name } of Deno.readDirSync(folder)) {
    if (Deno.readTextFileSync(`${folder}/${name}/comm`).trim() !== thread) continue;
    // The second number of the line, in nanoseconds.
    return () => Number(Deno.readTextFileSync(`${folder}/${name}/schedstat`).split(" ")[1]) / 1e6;
  }
  return () => NaN;
}

const encoder = new TextEncoder();

function report(heldMs: number, waitMs: number): void {
  const line = `held ${heldMs.toFixed(1)} ms, of which ${waitMs.toFixed(1)} without a processor\n`;
  Deno.stderr.writeSync(encoder.encode(line));
}
