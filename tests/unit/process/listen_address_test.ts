import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  addressesOf,
  addressText,
  adminListenAddress,
  apiListenAddress,
} from "../../../src/process/listen_address.ts";

const tcp = { serverHost: "*4", serverPort: 3000, serverReuseport: true };
const unix = { serverUnixSocket: "/run/api.sock", serverUnixSocketMode: 0o600 };

Deno.test("apiListenAddress() returns host and port, or the Unix socket if one is set", () => {
  deepStrictEqual(apiListenAddress({ ...tcp, ...unix, serverUnixSocket: null }), {
    kind: "tcp",
    host: "*4",
    port: 3000,
    reusePort: true,
  });
  deepStrictEqual(apiListenAddress({ ...tcp, ...unix }), {
    kind: "unix",
    path: "/run/api.sock",
    mode: 0o600,
  });
});

const admin = { adminServerHost: "::1", adminServerUnixSocketMode: 0o660 };

Deno.test("adminListenAddress() returns an unshared port, or null by default", () => {
  const off = { ...admin, adminServerPort: null, adminServerUnixSocket: null };
  strictEqual(adminListenAddress(off), null);
  deepStrictEqual(adminListenAddress({ ...off, adminServerPort: 0 }), {
    kind: "tcp",
    host: "::1",
    port: 0,
    reusePort: false,
  });
  deepStrictEqual(adminListenAddress({ ...off, adminServerPort: 1, adminServerUnixSocket: "/a" }), {
    kind: "unix",
    path: "/a",
    mode: 0o660,
  });
});

const hosts: readonly (readonly [host: string, addresses: readonly string[]])[] = [
  ["*", ["0.0.0.0", "::"]],
  ["*4", ["0.0.0.0", "::"]],
  ["!4", ["0.0.0.0"]],
  ["*6", ["::", "0.0.0.0"]],
  ["!6", ["::"]],
  ["127.0.0.1", ["of 127.0.0.1"]],
  ["[::1]", ["of ::1"]],
  ["name", ["of name"]],
];

for (const [host, addresses] of hosts) {
  Deno.test(`addressesOf() returns ${addresses.join(", ")} for ${host}`, async () => {
    const resolve = (name: string) => Promise.resolve([`of ${name}`]);
    deepStrictEqual(await addressesOf(host, resolve), addresses);
  });
}

Deno.test("addressText() puts IPv6 addresses into brackets", () => {
  strictEqual(addressText({ hostname: "127.0.0.1", port: 1 }), "127.0.0.1:1");
  strictEqual(addressText({ hostname: "::1", port: 1 }), "[::1]:1");
});
