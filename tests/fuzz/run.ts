/** Runs the properties for some minutes: `deno task fuzz --minutes 5`. Progress is on stderr. Exits
 * with 1 at the first value that breaks a property, after its report. @module */
import { parseArgs } from "node:util";
import { bodyTargets } from "./bodies.ts";
import { cursorTargets } from "./cursors.ts";
import type { FuzzTarget } from "./fuzz_target.ts";
import { operationTargets } from "./operations.ts";
import { tokenTargets } from "./tokens.ts";
import { urlTargets } from "./url.ts";
import { wireTargets } from "./wire.ts";

export const targets: readonly FuzzTarget[] = [
  ...[...urlTargets, ...tokenTargets, ...wireTargets],
  ...[...bodyTargets, ...cursorTargets, ...operationTargets],
];

/** Returns a seed without a sign, which a command line would read as an option. */
export function randomSeed(): number {
  return crypto.getRandomValues(new Uint16Array(1))[0]! * 10_000;
}

/** Returns the exit code. */
async function fuzz(): Promise<number> {
  const { values: options } = parseArgs({
    args: Deno.args,
    options: {
      minutes: { type: "string", default: "5" },
      seed: { type: "string", default: String(randomSeed()) },
      target: { type: "string", default: "" },
      /** Repeats one value, as a report names it. */
      path: { type: "string" },
    },
  });
  const chosen = targets.filter(({ name }) => name.includes(options.target));
  if (chosen.length === 0) {
    console.error(`no target has the name ${options.target}`);
    return 1;
  }
  const end = performance.now() + Number(options.minutes) * 60_000;
  let values = 0;
  for (let round = 0; round === 0 || performance.now() < end; round++) {
    const seed = Number(options.seed) + round;
    for (const { runs, run } of chosen) {
      try {
        await run({ seed, runs, path: options.path });
      } catch (error) {
        console.error(error instanceof Error ? error.message : error);
        return 1;
      }
      values += runs;
    }
    console.error(`round ${round + 1}, seed ${seed}: ${values} values`);
    if (options.path !== undefined) break;
  }
  console.log(`${chosen.length} properties hold for ${values} values`);
  return 0;
}

if (import.meta.main) Deno.exit(await fuzz());
