import { strictEqual } from "node:assert/strict";
import { isHostHeader } from "../../../src/http/host.ts";

const rows: readonly [string | null, boolean][] = [
  [null, true],
  ["", true],
  ["example.com", true],
  ["example.com:3000", true],
  ["[::1]:3000", true],
  ["x/rpc/echo?v=1#", false],
  ["x?", false],
  ["x#", false],
  ["a b", false],
  ["user@x", false],
  ["x\\y", false],
];

Deno.test("isHostHeader accepts hosts and ports only", () => {
  for (const [value, accepted] of rows) strictEqual(isHostHeader(value), accepted, `${value}`);
});
