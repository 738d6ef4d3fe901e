import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  type BenchOptions,
  isInSet,
  isWanted,
  parseOptions,
} from "../../../tools/benchmark/options.ts";

const usual: BenchOptions = {
  help: false,
  before: null,
  workers: [1, 2],
  seconds: 5,
  rounds: 1,
  connections: 20,
  set: null,
  listsCases: false,
  cases: [],
  peer: null,
  json: false,
};

const read: readonly (readonly [args: readonly string[], differing: Partial<BenchOptions>])[] = [
  [[], {}],
  [["--seconds", "2", "--connections=7", "--json"], { seconds: 2, connections: 7, json: true }],
  [["--case", "a", "--case", "b c"], { cases: ["a", "b c"] }],
  [["--peer", "x {conf}"], { peer: "x {conf}", rounds: 3 }],
  [["--peer", "x {conf}", "--rounds", "5"], { peer: "x {conf}", rounds: 5 }],
  [["--set", "rls"], { set: "rls" }],
  [["--set", "large"], { set: "large" }],
  [["--set", "bodies"], { set: "bodies" }],
  [["--set=all"], { set: null }],
  [["--cases"], { listsCases: true }],
  [["--workers", "1,2,4"], { workers: [1, 2, 4] }],
  [["--cost"], { set: "cost" }],
  [["--help"], { help: true }],
];

for (const [args, differing] of read) {
  Deno.test(`parseOptions reads ${args.join(" ") || "nothing"}`, () => {
    deepStrictEqual(parseOptions(args), { ...usual, ...differing });
  });
}

const refused: readonly (readonly [args: readonly string[], message: RegExp])[] = [
  [["--seconds", "0"], /^Error: --seconds takes a number from 1 on$/],
  [["--connections", "2x"], /^Error: --connections takes a number from 1 on$/],
  [["--rounds", "-1"], /rounds/],
  [["--workers", "1,,2"], /^Error: --workers takes a number from 1 on$/],
  [["--peer", "postgrest"], /^Error: --peer needs \{conf\} in it$/],
  [["--case"], /case/],
  [
    ["--set", "slow"],
    /^Error: --set takes one of plain, token, rls, large, guards, features, replicas, bodies, workers, cost, known, policies, all$/,
  ],
  [["--speed"], /speed/],
  [["case"], /case/],
];

for (const [args, message] of refused) {
  Deno.test(`parseOptions refuses ${args.join(" ")}`, () => {
    throws(() => parseOptions(args), message);
  });
}

Deno.test("isWanted takes all cases, or those whose name contains a text", () => {
  strictEqual(isWanted({ cases: [] }, "row by key"), true);
  strictEqual(isWanted({ cases: ["insert", "key"] }, "row by key"), true);
  strictEqual(isWanted({ cases: ["insert"] }, "row by key"), false);
});

Deno.test("isInSet() is true for the set of the options, or for all", () => {
  strictEqual(isInSet({ set: null }, "rls"), true);
  strictEqual(isInSet({ set: "rls" }, "rls"), true);
  strictEqual(isInSet({ set: "plain" }, "rls"), false);
  strictEqual(isInSet({ set: null }, "bodies"), false);
});
