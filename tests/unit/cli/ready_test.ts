import { deepStrictEqual } from "node:assert/strict";
import { type ReadyCheck, readyCheck, readyVerdict } from "../../../src/cli/ready.ts";
import { pgrstDialect, svcDialect } from "../../../src/dialect.ts";

const special = (host: string) =>
  `ERROR: The \`--ready\` flag cannot be used when server-host is configured as "${host}". ` +
  'Please update your server-host config to "localhost".';

const at = (...addresses: readonly string[]): ReadyCheck => ({
  kind: "urls",
  urls: addresses.map((address) => `http://${address}/ready`),
});
const refused = (message: string): ReadyCheck => ({ kind: "problem", message });
const notRunning = refused(
  "ERROR: Admin server is not running. Please check admin-server-port config.",
);

const checks: readonly {
  readonly host: string;
  readonly port?: number | null;
  readonly svc: ReadyCheck;
  /** Default: like `svc`. */
  readonly pgrst?: ReadyCheck;
}[] = [
  { host: "127.0.0.1", svc: at("127.0.0.1:3001") },
  { host: "localhost", port: 1, svc: at("localhost:1") },
  { host: "::1", svc: at("[::1]:3001") },
  { host: "*4", port: null, svc: notRunning },
  { host: "*", svc: at("127.0.0.1:3001", "[::1]:3001"), pgrst: refused(special("*")) },
  { host: "*4", svc: at("127.0.0.1:3001", "[::1]:3001"), pgrst: refused(special("*4")) },
  { host: "!4", svc: at("127.0.0.1:3001"), pgrst: refused(special("!4")) },
  { host: "*6", svc: at("[::1]:3001", "127.0.0.1:3001"), pgrst: refused(special("*6")) },
  { host: "!6", svc: at("[::1]:3001"), pgrst: refused(special("!6")) },
  { host: "fe80::1%eth0", svc: refused("ERROR: invalid url - http://[fe80::1%eth0]:3001/ready") },
];

for (const { host, port = 3001, svc, pgrst = svc } of checks) {
  for (const [dialect, check] of [[svcDialect, svc], [pgrstDialect, pgrst]] as const) {
    Deno.test(`readyCheck() of ${host} and port ${port} in the dialect ${dialect.name}`, () => {
      const config = { adminServerHost: host, adminServerPort: port, dialect };
      deepStrictEqual(readyCheck(config), check);
    });
  }
}

Deno.test("readyVerdict() depends on the status of the response", () => {
  const url = "http://127.0.0.1:3001/ready";
  deepStrictEqual(readyVerdict(url, 200), { ready: true, message: `OK: ${url}` });
  deepStrictEqual(readyVerdict(url, 299), { ready: true, message: `OK: ${url}` });
  deepStrictEqual(readyVerdict(url, 503), { ready: false, message: `ERROR: ${url}` });
  deepStrictEqual(readyVerdict(url, 302), { ready: false, message: `ERROR: ${url}` });
  deepStrictEqual(readyVerdict(url, null), {
    ready: false,
    message: `ERROR: connection refused to ${url}`,
  });
});
