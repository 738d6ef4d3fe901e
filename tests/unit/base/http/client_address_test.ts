/** The client's address behind proxies, and the network that limits count by. */
import { strictEqual } from "node:assert/strict";
import { assertLinearTime } from "../../../support/timing/linear_time.ts";
import {
  clientAddress,
  isTrustedProxy,
  networkOf,
  readTrustedProxies,
} from "../../../../src/base/http/client_address.ts";

const trusted = readTrustedProxies(["127.0.0.1", "10.0.0.0/8", "2001:db8:1::/48"]);

const x = (value: string) => ({ "x-forwarded-for": value });
const f = (value: string) => ({ forwarded: value });

const rows: readonly (readonly [
  peer: string,
  headers: Readonly<Record<string, string>>,
  client: string,
])[] = [
  ["192.0.2.1", {}, "192.0.2.1"],
  ["192.0.2.1", x("203.0.113.9"), "192.0.2.1"],
  ["192.0.2.1", f("for=203.0.113.9"), "192.0.2.1"],
  ["127.0.0.1", {}, "127.0.0.1"],
  ["127.0.0.1", x("203.0.113.9"), "203.0.113.9"],
  ["::ffff:127.0.0.1", x("203.0.113.9"), "203.0.113.9"],
  ["2001:db8:1::5", x("203.0.113.9"), "203.0.113.9"],
  ["2001:db8:2::5", x("203.0.113.9"), "2001:db8:2::5"],
  ["127.0.0.1", x("1.1.1.1, 203.0.113.9, 10.1.2.3"), "203.0.113.9"],
  ["127.0.0.1", x("10.9.9.9, 10.1.2.3"), "10.9.9.9"],
  ["127.0.0.1", x("203.0.113.9:4711"), "203.0.113.9"],
  ["127.0.0.1", x("[2001:db8::7]:4711"), "2001:db8::7"],
  ["127.0.0.1", x("2001:db8::7"), "2001:db8::7"],
  ["127.0.0.1", x("203.0.113.9, nonsense, 10.1.2.3"), "10.1.2.3"],
  ["127.0.0.1", x("203.0.113.9, 1.2.3"), "127.0.0.1"],
  ["127.0.0.1", x("0x7f.1"), "127.0.0.1"],
  ["127.0.0.1", x(`203.0.113.9${", 10.0.0.1".repeat(40)}`), "10.0.0.1"],
  ["127.0.0.1", f("for=203.0.113.9;proto=https"), "203.0.113.9"],
  ["127.0.0.1", f('by=10.0.0.1;For="[2001:db8::7]:4711"'), "2001:db8::7"],
  ["127.0.0.1", f('for="1.1.1.1, for=6.6.6.6", for=203.0.113.9'), "203.0.113.9"],
  ["127.0.0.1", f("for=203.0.113.9, for=_hidden, for=10.0.0.2"), "10.0.0.2"],
  ["127.0.0.1", f("for=203.0.113.9, proto=https"), "127.0.0.1"],
  ["127.0.0.1", f('for=6.6.6.6;x=", for=203.0.113.9'), "127.0.0.1"],
  ["127.0.0.1", f('for=6.6.6.6;x="\\", for=203.0.113.9'), "127.0.0.1"],
  ["127.0.0.1", f('for=203.0.113.9;x="\\""'), "203.0.113.9"],
  ["127.0.0.1", f("for=203.0.113.9:4711"), "203.0.113.9"],
  ["127.0.0.1", f("for=[2001:db8::7]:4711"), "2001:db8::7"],
  ["127.0.0.1", f("proto=https; for=203.0.113.9 , for=10.0.0.2"), "203.0.113.9"],
  ["127.0.0.1", f(";;for=203.0.113.9;"), "203.0.113.9"],
  ["127.0.0.1", f('for=6.6.6.6;x=", for="203.0.113.9"'), "127.0.0.1"],
  ["127.0.0.1", f('for="6.6.6.6"x, for=203.0.113.9'), "127.0.0.1"],
  ["127.0.0.1", f("for=6.6.6.6 x, for=203.0.113.9"), "127.0.0.1"],
  ["127.0.0.1", f("for = 203.0.113.9"), "127.0.0.1"],
  ["127.0.0.1", f("6.6.6.6, for=203.0.113.9"), "127.0.0.1"],
  ["127.0.0.1", f("for=, for=203.0.113.9"), "127.0.0.1"],
  ["127.0.0.1", f("f(r=6.6.6.6, for=203.0.113.9"), "127.0.0.1"],
  ["127.0.0.1", f("for=6.6.6.6;for=203.0.113.9"), "127.0.0.1"],
  ["127.0.0.1", { ...f("for=6.6.6.6"), ...x("203.0.113.9") }, "127.0.0.1"],
  ["127.0.0.1", { ...f("for=203.0.113.9"), ...x("203.0.113.9") }, "203.0.113.9"],
];

for (const [peer, headers, client] of rows) {
  Deno.test(`clientAddress() of ${peer} with ${JSON.stringify(headers).slice(0, 90)}`, () => {
    strictEqual(clientAddress(peer, headers, trusted), client);
  });
}

Deno.test("clientAddress() trusts a Unix socket only where it is named", () => {
  strictEqual(clientAddress(null, x("203.0.113.9"), trusted), null);
  const proxies = readTrustedProxies(["unix"]);
  strictEqual(clientAddress(null, x("203.0.113.9"), proxies), "203.0.113.9");
  strictEqual(clientAddress("127.0.0.1", x("203.0.113.9"), proxies), "127.0.0.1");
});

const networks = [
  ["192.0.2.1", "192.0.2.1"],
  ["::ffff:192.0.2.1", "192.0.2.1"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::", "2001:db8:1:2::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["no:address", "no:address"],
] as const;

for (const [client, network] of networks) {
  Deno.test(`networkOf(${client}) returns ${network}`, () => {
    strictEqual(networkOf(client), network);
  });
}

const items = [
  ["10.0.0.0/8", true],
  ["10.0.0.1", true],
  ["2001:db8::/32", true],
  ["::1", true],
  ["unix", true],
  ["10.0.0.0/33", false],
  ["10.0.0/8", false],
  ["10", false],
  ["localhost", false],
  ["10.0.0.0/", false],
] as const;

for (const [item, isValid] of items) {
  Deno.test(`isTrustedProxy(${item}) returns ${isValid}`, () => {
    strictEqual(isTrustedProxy(item), isValid);
  });
}

const manyParts = ["a=b;", 'a="\\""', "a=", ", ", "a", '"', "\\", "a=b "] as const;

for (const part of manyParts) {
  Deno.test(`clientAddress() reads many ${JSON.stringify(part)} in linear time`, () => {
    assertLinearTime("clientAddress", {
      size: 20_000,
      make: (size) => f(`for=203.0.113.9;${part.repeat(size)}`),
      run: (headers) => void clientAddress("127.0.0.1", headers, trusted),
    });
  });
}
