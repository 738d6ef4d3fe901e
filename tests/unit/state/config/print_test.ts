import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { loadConfig } from "../../../../src/state/config/load.ts";
import { type Config, rowsOf, valueOf } from "../../../../src/state/config/options.ts";
import { dumpConfig, exampleFile } from "../../../../src/state/config/print.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

const rows = rowsOf({ wingOptions });

const secret = "reallyreallyreallyreallyverysafe";

function load(text: string, environment: Readonly<Record<string, string>> = {}): Config {
  const readFile = (path: string) =>
    new TextEncoder().encode(path === "api.operations" ? "" : secret);
  return loadConfig({ wingOptions, file: { path: "svc.conf", text }, environment, readFile });
}

const needed = 'db-uri = "postgresql://"\ndb-schemas = "public"\n';

const defaultDump = `admin-server-host = "*4"
admin-server-port = ""
admin-server-unix-socket = ""
admin-server-unix-socket-mode = "660"
client-error-verbosity = "verbose"
db-aggregates-enabled = false
db-anon-role = ""
db-channel = "svc"
db-channel-enabled = true
db-config = true
db-extra-search-path = "public"
db-hoisted-tx-settings = "statement_timeout"
db-max-rows = ""
db-plan-enabled = false
db-pool = 10
db-pool-acquisition-timeout = 10
db-pool-automatic-recovery = true
db-pool-max-idletime = 30
db-pool-max-lifetime = 1800
db-pre-config = ""
db-pre-request = ""
db-prepared-statements = true
db-root-spec = ""
db-schemas = "public"
db-tx-end = "commit"
db-uri = "postgresql://"
jwt-aud = ""
jwt-cache-max-entries = 1000
jwt-role-claim-key = "$$.role"
jwt-secret = ""
jwt-secret-is-base64 = false
log-level = "error"
log-query = false
openapi-mode = "follow-privileges"
openapi-security-active = false
openapi-server-proxy-uri = ""
server-cors-allowed-origins = ""
server-host = "*4"
server-port = 3000
server-reuseport = false
server-timing-enabled = false
server-trace-header = ""
server-unix-socket = ""
server-unix-socket-mode = "660"
url-use-legacy-target-names = true
`;

Deno.test("dumpConfig writes the defaults", () => {
  strictEqual(dumpConfig(load(needed)), defaultDump);
});

const dumped: readonly (readonly [binding: string, line: string])[] = [
  ['db-extra-search-path = "multi,   tenant,setup"', 'db-extra-search-path = "multi,tenant,setup"'],
  ['db-extra-search-path = ""', 'db-extra-search-path = ""'],
  ['db-channel-enabled = "0"', "db-channel-enabled = false"],
  ["max-rows = 1000", "db-max-rows = 1000"],
  ["db-pool-timeout = 5", "db-pool-max-idletime = 5"],
  ['pre-request = "a.b.c"', 'db-pre-request = "a.b.c"'],
  ['root-spec = "g"', 'db-root-spec = "g"'],
  ['jwt-role-claim-key = "$.a[?(@ == \\"b\\")]"', 'jwt-role-claim-key = "$$.a[?(@ == \\"b\\")]"'],
  [`jwt-secret = "${secret}"`, `jwt-secret = "${secret}"`],
  [`jwt-secret = "@f"`, `jwt-secret = "${secret}"`],
  [`jwt-secret = "${secret}$$$$\\n\\u007F"`, `jwt-secret = "${secret}$$$$\\n\\u007f"`],
  ['db-anon-role = "a\\\\b\\"c"', 'db-anon-role = "a\\\\b\\"c"'],
  ['server-unix-socket-mode = "600"', 'server-unix-socket-mode = "600"'],
  ["admin-server-port = 0", "admin-server-port = 0"],
  ['app.settings.x = "$$(HOME) \\t"', 'app.settings.x = "$$(HOME) \\t"'],
];

for (const [binding, line] of dumped) {
  Deno.test(`dumpConfig writes ${line} for ${binding}`, () => {
    const dump = dumpConfig(load(needed + binding));
    deepStrictEqual(dump.split("\n").filter((each) => each === line), [line]);
  });

  Deno.test(`dumpConfig writes what reads as ${binding}`, () => {
    const config = load(needed + binding);
    deepStrictEqual(load(dumpConfig(config)), config);
    strictEqual(dumpConfig(load(dumpConfig(config))), dumpConfig(config));
  });
}

Deno.test("dumpConfig writes a base64 secret as base64", () => {
  const encoded = btoa("\xff".repeat(32));
  const text = `${needed}jwt-secret = "${encoded}"\njwt-secret-is-base64 = true`;
  match(dumpConfig(load(text)), new RegExp(`^jwt-secret = "${encoded}"$`, "m"));
  deepStrictEqual(load(dumpConfig(load(text))), load(text));
});

const firstLines = [
  'db-uri = "postgres://authenticator:secret@localhost:5432/shop"',
  'db-schemas = "api"',
  'db-anon-role = "web_anon"',
  'jwt-secret = "a secret of at least thirty-two characters"',
];

Deno.test("exampleFile names every option once, the usual ones first, and reads as the defaults", () => {
  const text = exampleFile(wingOptions);
  deepStrictEqual(text.match(/^[a-z].*$/gm)?.slice(0, 4), firstLines);
  for (const [key] of rows) {
    strictEqual(text.match(new RegExp(`^(# )?${key} = `, "gm"))?.length, 1, key);
  }
  deepStrictEqual(load(text), load(firstLines.join("\n")));
});

Deno.test("exampleFile reads with every option in force", () => {
  const config = load(exampleFile(wingOptions).replace(/^# /gm, ""));
  strictEqual(config.dbAnonRole, "web_anon");
  strictEqual(config.adminServerPort, 3001);
  deepStrictEqual(config.appSettings, [["app.settings.region", "eu"]]);
  const unset = rows.map(([key]) => key).filter((key) => valueOf(config, key) === null);
  deepStrictEqual(unset, []);
});
