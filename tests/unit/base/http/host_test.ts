import { strictEqual } from "node:assert/strict";
import { hostName, isAddress, isHostHeader } from "../../../../src/base/http/host.ts";

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

const names: readonly [header: string, name: string | null, isAddress: boolean][] = [
  ["localhost", "localhost", false],
  ["LocalHost:3001", "localhost", false],
  ["a_b.example.", "a_b.example.", false],
  ["%61.example", "a.example", false],
  ["127.0.0.1:3001", "127.0.0.1", true],
  ["127.1", "127.0.0.1", true],
  ["2130706433", "127.0.0.1", true],
  ["[::1]:3001", "[::1]", true],
  ["[0:0::1]", "[::1]", true],
  ["127.0.0.1.example", "127.0.0.1.example", false],
  ["1.2.3.4.5", null, false],
  ["256.1.1.1", null, false],
  ["", null, false],
  [":3001", null, false],
  ["localhost:99999", null, false],
  ["[::1", null, false],
  ["::1", null, false],
  ["user@localhost", null, false],
  ["localhost/x", null, false],
];

for (const [header, name, address] of names) {
  Deno.test(`hostName reads ${JSON.stringify(header)}`, () => {
    strictEqual(hostName(header), name);
    strictEqual(name !== null && isAddress(name), address);
  });
}
