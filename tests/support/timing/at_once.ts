import type { SlicedWork } from "../../../src/base/lib/slices.ts";

/** Does work without pauses. */
export function atOnce<Result>(work: SlicedWork<Result>): Result {
  for (let step = work.next();; step = work.next()) {
    if (step.done === true) return step.value;
  }
}
