/** What `tests/process/hosts_test.ts` cannot have servers do. */
import { deepStrictEqual, rejects } from "node:assert/strict";
import {
  ConnectionRefused,
  type Connector,
  connectToFirst,
  placeOf,
} from "../../../../src/database/connect/hosts.ts";
import type { SessionTarget } from "../../../../src/database/connect/targets.ts";

/** Connections are the names of the hosts; `strict` refuses the login, and no state can be read. */
function connector() {
  const log: string[] = [];
  const made: Connector<string> = {
    open: ({ host }) => {
      log.push(`open ${host}`);
      if (host === "strict") return Promise.reject(new ConnectionRefused("strict knows nobody\n"));
      return Promise.resolve(String(host));
    },
    state: () => Promise.reject(new Error("lost")),
    close: (host) => void log.push(`close ${host}`),
  };
  return { log, made };
}

const rows: readonly (readonly [
  name: string,
  session: SessionTarget,
  hosts: readonly string[],
  message: string,
  log: readonly string[],
])[] = [
  ["tries no other server after a refusal", "any", ["strict", "primary"], "strict knows nobody\n", [
    "open strict",
  ]],
  [
    "looks for no other session after a refusal",
    "prefer-standby",
    ["strict", "standby"],
    "strict knows nobody\n",
    ["open strict"],
  ],
  ["closes a session whose state cannot be read", "standby", ["primary"], "lost", [
    "open primary",
    "close primary",
  ]],
];

for (const [name, session, hosts, message, expected] of rows) {
  Deno.test(`connectToFirst() ${name}`, async () => {
    const { log, made } = connector();
    const targets = { servers: hosts.map((host) => ({ host })), session };
    await rejects(connectToFirst(targets, made), { message });
    deepStrictEqual(log, expected);
  });
}

Deno.test("placeOf tells hosts, addresses and sockets", () => {
  deepStrictEqual([
    placeOf({ host: "localhost", port: 5433 }, "127.0.0.1"),
    placeOf({ host: "10.0.0.1" }, "10.0.0.1"),
    placeOf({ host: "/tmp", port: 1 }, "/tmp/.s.PGSQL.1"),
  ], [
    'connection to server at "localhost" (127.0.0.1), port 5433',
    'connection to server at "10.0.0.1", port 5432',
    'connection to server on socket "/tmp/.s.PGSQL.1"',
  ]);
});
