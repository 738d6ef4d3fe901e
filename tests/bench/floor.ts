/**
 * What the database alone allows: the statements of a request on the service's own connections, with
 * no HTTP around them. As with pgbench each request's are a transaction with a Sync of its own, of which
 * several are on their way; the service does better than that where it has several answered together.
 *
 * @module
 */
import process from "node:process";
import { type Batch, discardBody } from "../../src/database/database.ts";
import { buildRequest } from "../support/request.ts";
import type { BatchSource } from "./batches.ts";
import { percentile } from "./figures.ts";
import type { LoadFigures } from "./measure.ts";
import { processTime } from "./process_time.ts";
import { drawnLine, type LoadRequest } from "./wrk.ts";

/** How many requests' batches are sent in turn. */
const variety = 1000;

/** Gives the transactions of requests that are drawn like those of a load. */
export async function batchesOf(
  request: LoadRequest,
  source: BatchSource,
): Promise<readonly Batch[]> {
  const batches: Batch[] = [];
  for (let turn = 0; turn < variety; turn++) {
    const line = drawnLine(request, Math.random());
    batches.push(await source.batchOf(await buildRequest({ line, origin: "http://floor" })));
  }
  return batches;
}

/** How a floor is measured. */
export interface FloorOptions {
  /** Callers take turns with them: the service has what is as short as this wait for one connection. */
  readonly sends: readonly BatchSource["send"][];
  readonly postmaster: number;
  readonly callers: number;
  readonly seconds: number;
}

/** Sends batches, as many at once as there are callers. */
export async function measureFloor(
  batches: readonly Batch[],
  { sends, postmaster, callers, seconds }: FloorOptions,
): Promise<LoadFigures> {
  const took: number[] = [];
  const ownBefore = process.cpuUsage();
  const postgresBefore = await processTime(postmaster);
  const began = performance.now();
  const call = async (_: unknown, caller: number) => {
    const send = sends[caller % sends.length]!;
    for (let turn = caller; performance.now() - began < seconds * 1000; turn += callers) {
      const batch = batches[turn % batches.length]!;
      const sent = performance.now();
      // What failed lately is not answered together with others.
      batch.pace?.ended(false);
      discardBody((await send(batch)).body);
      took.push(performance.now() - sent);
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  const elapsed = performance.now() - began;
  const { user, system } = process.cpuUsage(ownBefore);
  return {
    perSecond: took.length / elapsed * 1000,
    p50: percentile(took, 50),
    p99: percentile(took, 99),
    cpu: (user + system) / took.length,
    postgresCpu: (await processTime(postmaster) - postgresBefore) / took.length,
    peakMemory: NaN,
    failed: 0,
  };
}
