/** Sends requests at a fixed rate, for the cost of a service that has little to do. @module */
import { pause } from "./bench.ts";
import type { BenchServer } from "./servers.ts";
import { drawAtRandom, fillTemplate } from "./template.ts";
import type { LoadRequest } from "./wrk.ts";

/** Milliseconds between two checks of the clock. */
const tick = 4;

/**
 * Sends reads for some seconds, and returns their number. Rejects with an `Error` if an answer is not a
 * success.
 */
export async function sendAtRate(
  { line, users }: LoadRequest,
  { server, rate, seconds }: {
    readonly server: BenchServer;
    /** Requests per second. */
    readonly rate: number;
    readonly seconds: number;
  },
): Promise<number> {
  const total = rate * seconds;
  const began = performance.now();
  const answers: Promise<void>[] = [];
  while (answers.length < total) {
    const due = Math.min(total, Math.floor((performance.now() - began) / 1000 * rate));
    while (answers.length < due) {
      const target = fillTemplate(line, drawAtRandom(users)).replace("GET ", "");
      answers.push(read(server.origin + target));
    }
    await pause(tick);
  }
  await Promise.all(answers);
  return total;
}

async function read(url: string): Promise<void> {
  const response = await fetch(url);
  await response.text();
  if (!response.ok) throw new Error(`${url}: ${response.status}`);
}
