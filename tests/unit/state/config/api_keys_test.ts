import { strictEqual } from "node:assert/strict";
import { apiKeyList } from "../../../../src/state/config/api_keys.ts";

const hash = "ab".repeat(32);
const entry = { name: "web", sha256: hash, role: "anon" };
const context = {
  readFile: () => new TextEncoder().encode(`${JSON.stringify([entry])}\n`),
  secretIsBase64: false,
  invalidConfig: "rejected",
} as const;

function problemOf(value: unknown): string | null {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const read = apiKeyList.read(text, context);
  return read.kind === "problem" ? read.problem : null;
}

/** Values, and the problem that the reader reports; null for valid lists. */
const rows: readonly (readonly [value: unknown, problem: RegExp | null])[] = [
  [[entry], null],
  ["@keys.json", null],
  [[{ ...entry, claims: { a: 1 } }], null],
  ["", /^expected a JSON list of keys/],
  ["[]", /^expected a JSON list of keys/],
  ["{}", /^expected a JSON list of keys/],
  [[1], /^key 1: expected a JSON object$/],
  [[{ ...entry, key: "sb_secret" }], /^key 1: unknown member "key"$/],
  [[{ ...entry, sha256: hash.slice(1) }], /^key 1: invalid value of sha256$/],
  [[{ ...entry, sha256: `${hash}0` }], /^key 1: invalid value of sha256$/],
  [[{ ...entry, sha256: `g${hash.slice(1)}` }], /^key 1: invalid value of sha256$/],
  [[{ ...entry, sha256: `${hash.slice(1)} ` }], /^key 1: invalid value of sha256$/],
  [[{ ...entry, name: "a b" }], /^key 1: invalid value of name$/],
  [[{ ...entry, role: "none" }], /^key 1: invalid value of role$/],
  [[{ ...entry, claims: [] }], /^key 1: invalid value of claims$/],
  [[{ name: "web", sha256: hash }], /^key 1: role is missing$/],
  [[entry, { ...entry, sha256: "cd".repeat(32) }], /^key 2: the same name as another one$/],
  [
    [entry, { ...entry, name: "b", sha256: hash.toUpperCase() }],
    /^key 2: the same key as another one$/,
  ],
  [[entry, { ...entry, name: "b" }], /^key 2: the same key as another one$/],
  [Array(1001).fill(entry), /^has more than 1000 keys$/],
];

for (const [value, problem] of rows) {
  Deno.test(`api-keys ${JSON.stringify(value)} ${problem === null ? "is valid" : "is refused"}`, () => {
    const found = problemOf(value);
    strictEqual(problem === null ? found === null : problem.test(found ?? ""), true, found ?? "");
  });
}
