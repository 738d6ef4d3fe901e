import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import {
  type Command,
  helpText,
  parseArguments,
  type ReadyCheck,
  readyCheck,
  readyVerdict,
  usage,
  versionText,
} from "../../../src/server/cli.ts";
import { pgrstDialect, svcDialect } from "../../../src/dialect.ts";
import { version } from "../../../src/version.ts";

const commands: readonly (readonly [argv: readonly string[], command: Command])[] = [
  [[], { kind: "run", file: null }],
  [["svc.conf"], { kind: "run", file: "svc.conf" }],
  [["-"], { kind: "run", file: "-" }],
  [["--", "--help"], { kind: "run", file: "--help" }],
  [["--"], { kind: "run", file: null }],
  [["-h"], { kind: "help" }],
  [["--help"], { kind: "help" }],
  [["-v"], { kind: "version" }],
  [["--version"], { kind: "version" }],
  [["-e"], { kind: "example" }],
  [["--example"], { kind: "example" }],
  [["--dump-config"], { kind: "dump-config", file: null }],
  [["--dump-config", "a"], { kind: "dump-config", file: "a" }],
  [["a", "--dump-config"], { kind: "dump-config", file: "a" }],
  [["--dump-config", "--", "a"], { kind: "dump-config", file: "a" }],
  [["a", "--bogus", "-v", "b"], { kind: "version" }],
  [["-e", "-v", "-h"], { kind: "help" }],
  [["-e", "-v"], { kind: "version" }],
  [["--bogus"], { kind: "error", message: 'unknown option "--bogus"' }],
  [["--dump-schema"], { kind: "dump-schema", file: null }],
  [["--types", "a"], { kind: "types", file: "a" }],
  [["--ready", "a"], { kind: "ready", file: "a" }],
  [["--ready", "--ready", "a"], { kind: "ready", file: "a" }],
  [["--ready", "--dump-config"], {
    kind: "error",
    message: "--dump-config and --ready exclude each other",
  }],
  [["a", "--dump-schema", "--dump-config"], {
    kind: "error",
    message: "--dump-config and --dump-schema exclude each other",
  }],
  [["--dump-schema", "--dump-config", "-v"], { kind: "version" }],
  [["-x\u001b[2J"], { kind: "error", message: 'unknown option "-x\\u001b[2J"' }],
  [["a", "b"], { kind: "error", message: 'unexpected argument "b"' }],
  [["a", "--", "b"], { kind: "error", message: 'unexpected argument "b"' }],
  [[""], { kind: "error", message: "the path of the configuration file is empty" }],
];

for (const [argv, command] of commands) {
  Deno.test(`parseArguments() parses ${JSON.stringify(argv)}`, () => {
    deepStrictEqual(parseArguments(argv), command);
  });
}

Deno.test("versionText() returns name and version in one line", () => {
  strictEqual(versionText(), `SVC ${version}\n`);
});

Deno.test("usage() shows every option", () => {
  strictEqual(
    usage(),
    "Usage: svc [-h|--help] [-v|--version] [-e|--example] [--dump-config] [--dump-schema] " +
      "[--types] [--ready] [FILENAME]\n",
  );
});

Deno.test("helpText() shows usage, version and every option", () => {
  const text = helpText();
  strictEqual(text.startsWith(usage()), true);
  match(text, /^ {2}SVC \S+ \/ create a REST API to an existing Postgres database$/m);
  match(text, /^ {2}-e, --example {2}Show an example file and exit$/m);
});

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
  {
    host: "fe80::1%eth0",
    svc: refused("ERROR: invalid url - http://[fe80::1%eth0]:3001/ready"),
  },
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
