import { deepStrictEqual } from "node:assert/strict";
import { askReady } from "../../../../src/process/cli/ready.ts";
import { pgrstDialect, svcDialect } from "../../../../src/base/dialect.ts";

const special = (host: string) =>
  `ERROR: The \`--ready\` flag cannot be used when server-host is configured as "${host}". ` +
  'Please update your server-host config to "localhost".';

/** The URLs that are requested in turn while none responds, and the message. */
type Expected = readonly [urls: readonly string[], message: string];

const at = (...addresses: readonly string[]): Expected => {
  const urls = addresses.map((address) => `http://${address}/ready`);
  return [urls, `ERROR: connection refused to ${urls[0]}`];
};
const refused = (message: string): Expected => [[], message];
const notRunning = refused(
  "ERROR: Admin server is not running. Please check admin-server-port config.",
);

const checks: readonly {
  readonly host: string;
  readonly port?: number | null;
  readonly svc: Expected;
  /** Default: like `svc`. */
  readonly pgrst?: Expected;
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
    Deno.test(`askReady() of ${host} and port ${port} in the dialect ${dialect.name}`, async () => {
      const config = { adminServerHost: host, adminServerPort: port, dialect };
      const urls: string[] = [];
      const { isReady, message } = await askReady(config, (url) => {
        urls.push(url);
        return Promise.resolve(null);
      });
      deepStrictEqual([isReady, urls, message], [false, ...check]);
    });
  }
}

Deno.test("askReady() depends on the status of the response", async () => {
  const config = { adminServerHost: "*4", adminServerPort: 3001, dialect: svcDialect };
  for (
    const [status, sign] of [[200, "OK"], [299, "OK"], [503, "ERROR"], [302, "ERROR"]] as const
  ) {
    const message = `${sign}: http://127.0.0.1:3001/ready`;
    deepStrictEqual(await askReady(config, () => Promise.resolve(status)), {
      isReady: sign === "OK",
      message,
    });
  }
});
