import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import {
  ConnectionRefused,
  type Connector,
  connectToFirst,
  placeOf,
  type ServerState,
} from "../../../../src/database/connect/hosts.ts";
import type { SessionTarget } from "../../../../src/database/connect/targets.ts";

/** What becomes of connecting to a host, by its name. */
const servers: Readonly<Record<string, ServerState | Error>> = {
  primary: { inRecovery: false, readOnly: false },
  standby: { inRecovery: true, readOnly: true },
  frozen: { inRecovery: false, readOnly: true },
  down: new Error("down is down\n"),
  strict: new ConnectionRefused("strict knows nobody\n"),
};

/** Connections are the names of the hosts. */
function connector() {
  const log: string[] = [];
  const made: Connector<string> = {
    open: ({ host }) => {
      const server = servers[String(host)]!;
      log.push(`open ${host}`);
      return server instanceof Error ? Promise.reject(server) : Promise.resolve(String(host));
    },
    state: (host) => Promise.resolve(servers[host] as ServerState),
    close: (host) => void log.push(`close ${host}`),
  };
  return { log, made };
}

const rows: readonly (readonly [session: SessionTarget, hosts: string, taken: string])[] = [
  ["any", "primary,standby", "primary"],
  ["any", "standby,primary", "standby"],
  ["any", "down,standby", "standby"],
  ["read-write", "standby,frozen,primary", "primary"],
  ["read-only", "primary,standby", "standby"],
  ["read-only", "primary,frozen", "frozen"],
  ["primary", "standby,frozen,primary", "frozen"],
  ["standby", "primary,frozen,standby", "standby"],
  ["prefer-standby", "primary,standby", "standby"],
  ["prefer-standby", "primary,down", "primary"],
  ["prefer-standby", "down,frozen,primary", "frozen"],
];

for (const [session, hosts, taken] of rows) {
  Deno.test(`connectToFirst takes ${taken} of ${hosts} for ${session}`, async () => {
    const { log, made } = connector();
    const targets = { servers: hosts.split(",").map((host) => ({ host })), session };
    strictEqual(await connectToFirst(targets, made), taken);
    const open = log.filter((entry) => entry.startsWith("open") && !entry.endsWith("down")).length;
    const closed = log.filter((entry) => entry.startsWith("close")).length;
    strictEqual(open - closed, 1, log.join("; "));
  });
}

const failures: readonly (readonly [session: SessionTarget, hosts: string, message: string])[] = [
  [
    "read-write",
    "standby,down",
    'connection to server at "standby", port 5432 failed: session is read-only\ndown is down\n',
  ],
  [
    "read-only",
    "primary",
    'connection to server at "primary", port 5432 failed: session is not read-only\n',
  ],
  [
    "primary",
    "standby",
    'connection to server at "standby", port 5432 failed: server is in hot standby mode\n',
  ],
  [
    "standby",
    "primary",
    'connection to server at "primary", port 5432 failed: server is not in hot standby mode\n',
  ],
  ["prefer-standby", "down,down", "down is down\ndown is down\n"],
  ["any", "strict,primary", "strict knows nobody\n"],
  ["prefer-standby", "strict,standby", "strict knows nobody\n"],
];

for (const [session, hosts, message] of failures) {
  Deno.test(`connectToFirst finds none of ${hosts} good for ${session}`, async () => {
    const { log, made } = connector();
    const targets = { servers: hosts.split(",").map((host) => ({ host })), session };
    await rejects(connectToFirst(targets, made), { message });
    if (hosts.startsWith("strict")) deepStrictEqual(log, ["open strict"]);
  });
}

Deno.test("connectToFirst() closes a session whose state cannot be read", async () => {
  const { log, made } = connector();
  const state = () => Promise.reject(new Error("lost"));
  const targets = { servers: [{ host: "primary" }], session: "standby" } as const;
  await rejects(connectToFirst(targets, { ...made, state }), { message: "lost" });
  ok(log.includes("close primary"));
});

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
