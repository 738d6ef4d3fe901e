import { deepStrictEqual } from "node:assert/strict";
import {
  type HealthReport,
  StandbyHealth,
} from "../../../../src/database/replicas/server_state.ts";

const reports: Readonly<Record<string, HealthReport>> = {
  a: { kind: "in recovery" },
  f: { kind: "failed", reason: "refused" },
  x: { kind: "excluded", reason: "it does not answer" },
};

/** One letter per report; `+` for healthy behind it, else `-`. */
const rows: readonly (readonly [name: string, letters: string, states: string])[] = [
  ["includes a new standby at its first answer", "a", "+"],
  ["excludes a standby after two failures in a row", "aff", "++-"],
  ["forgets a single failure", "afaf", "++++"],
  ["includes a standby again after two answers in a row", "affaa", "++--+"],
  ["counts the answers anew after a failure", "affafaa", "++----+"],
  ["excludes a promoted standby at once", "axx", "+--"],
  ["includes a former primary after two answers", "xaa", "--+"],
  ["includes a standby that failed once before its first answer", "fa", "-+"],
];
for (const [name, letters, states] of rows) {
  Deno.test(`StandbyHealth.record() ${name}`, () => {
    const health = new StandbyHealth();
    const seen = Array.from(letters, (letter) => {
      health.record(reports[letter]!);
      return health.isHealthy ? "+" : "-";
    });
    deepStrictEqual(seen.join(""), states);
  });
}
