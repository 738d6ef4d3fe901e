/** Checks that work takes time in proportion to its input. Only ratios count, so that the speed and
 * the load of the machine do not. @module */

import { cpuUsage } from "node:process";

/** How many short inputs are as long as the long one. */
const parts = 16;

/**
 * How many times longer the long input may take than the short ones together: linear work takes once
 * as long, or some times where only the short ones fit into a cache of the processor; quadratic work
 * takes `parts` times as long.
 */
const maxRatio = 6;

/** Measurements of a machine that is busy elsewhere are too long, and never too short. */
const [minRounds, maxRounds] = [2, 30];

/** An input of a length, and the work that reads it. */
export interface LinearWork<Input> {
  /** Length of the long input, in whatever `make` counts. */
  readonly size: number;
  /** Makes an input, which is not measured. */
  readonly make: (size: number) => Input;
  readonly run: (input: Input) => void;
  /** Milliseconds since some time. Default: the processor time of this process, which other processes do not add to. */
  readonly now?: () => number;
}

function processorTime(): number {
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}

/**
 * Throws an `Error` unless one input of `size` takes about as long as sixteen inputs of a
 * sixteenth of that. Compares the shortest of several measurements.
 */
export function assertLinearTime<Input>(what: string, work: LinearWork<Input>): void {
  const { size, make, run, now = processorTime } = work;
  const [short, long] = [make(Math.ceil(size / parts)), make(size)];
  const measure = (input: Input, times: number) => {
    const start = now();
    for (let time = 0; time < times; time++) run(input);
    return now() - start;
  };
  let [shortMs, longMs] = [Infinity, Infinity];
  for (let round = 1; round <= maxRounds; round++) {
    shortMs = Math.min(shortMs, measure(short, parts));
    longMs = Math.min(longMs, measure(long, 1));
    if (round >= minRounds && longMs <= shortMs * maxRatio) return;
  }
  throw new Error(
    `${what} is not linear: ${parts} inputs of ${Math.ceil(size / parts)} take ` +
      `${shortMs.toFixed(3)} ms, one of ${size} takes ${longMs.toFixed(3)} ms`,
  );
}
