import { deepStrictEqual } from "node:assert/strict";
import { type Contender, type ContenderName, contest } from "../../../tools/benchmark/contest.ts";

/** A contender whose runs give 1, 2, 3 … times `step`, and which writes down its turns. */
function counting(
  name: ContenderName,
  step: number,
  turns: string[],
): Contender<"speed" | "failed"> {
  let runs = 0;
  return {
    name,
    run: (seconds) => {
      turns.push(`${name} ${seconds}`);
      runs++;
      return Promise.resolve({ speed: runs * step, failed: runs });
    },
  };
}

Deno.test("contest warms up, takes turns, and gives medians of the measured runs", async () => {
  const turns: string[] = [];
  const told: string[] = [];
  const standing = await contest(
    [counting("service", 10, turns), counting("peer", 1, turns)],
    {
      rounds: 3,
      seconds: 5,
      warmUp: 1,
      highest: ["failed"],
      before: () => Promise.resolve(void turns.push("before")),
      progress: (name, { speed }) => told.push(`${name} ${speed}`),
    },
  );
  const round = ["before", "service 5", "before", "peer 5"];
  deepStrictEqual(turns, ["before", "service 1", "before", "peer 1", ...round, ...round, ...round]);
  deepStrictEqual(told, [
    ...["service 20", "peer 2"],
    ...["service 30", "peer 3"],
    ...["service 40", "peer 4"],
  ]);
  deepStrictEqual(standing, {
    service: { speed: 30, failed: 4 },
    peer: { speed: 3, failed: 4 },
    floor: null,
  });
});
