/** Divides long work into slices, so that other work of the thread runs in between. @module */
import { turn } from "./timers.ts";

/** Work that yields where it can pause, and returns its result. */
export type SlicedWork<Result> = Generator<void, Result, void>;

/** Milliseconds after which other work gets the thread. */
const sliceMs = 5;

/** Returns a function that yields to other work if the thread has been busy for a slice. */
export function slicer(): () => Promise<void> | undefined {
  let began = performance.now();
  return () => {
    if (performance.now() - began < sliceMs) return undefined;
    return turn().then(() => void (began = performance.now()));
  };
}

/** Does work in slices. Rejects with what the work throws. */
export async function inSlices<Result>(work: SlicedWork<Result>): Promise<Result> {
  const pause = slicer();
  for (let step = work.next();; step = work.next()) {
    if (step.done === true) return step.value;
    const pausing = pause();
    if (pausing !== undefined) await pausing;
  }
}

/** Maps a list, and can pause after each item. */
export function* mapSliced<Item, Result>(
  items: Iterable<Item>,
  map: (item: Item, index: number) => Result,
): SlicedWork<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    results.push(map(item, results.length));
    yield;
  }
  return results;
}
