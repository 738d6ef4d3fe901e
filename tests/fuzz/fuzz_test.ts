import { randomSeed, targets } from "./run.ts";

for (const { name, runs, run } of targets) {
  Deno.test(`fuzz: ${name}`, () => run({ seed: randomSeed(), runs }));
}
