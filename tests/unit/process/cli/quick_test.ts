import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { connectAdvice } from "../../../../src/base/errors/connect_error.ts";
import { watchFile } from "../../../../src/process/cli/file_watch.ts";
import { type Banner, bannerText } from "../../../../src/process/cli/quick/quick_report.ts";
import { findNextPort, findPort } from "../../../../src/base/lib/free_ports.ts";
import { isQuickMode } from "../../../../src/process/cli/start.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";
import { version } from "../../../../src/base/version.ts";
import type { ConfigArguments } from "../../../../src/state/config/config_files.ts";

const uri = "postgres://h/x";
const flags = (name: string): ConfigArguments["flags"] =>
  new Map([["db-uri", { name, value: uri }]]);

const calls: readonly (readonly [
  title: string,
  call: Partial<ConfigArguments>,
  environment: Readonly<Record<string, string>>,
  isQuick: boolean,
])[] = [
  ["a connection string", { flags: flags("the connection string") }, {}, true],
  ["a connection string beside SVC_DB_URI", { flags: flags("the connection string") }, {
    SVC_DB_URI: uri,
  }, true],
  ["DATABASE_URL", {}, { DATABASE_URL: uri }, true],
  ["an empty DATABASE_URL", {}, { DATABASE_URL: "" }, false],
  ["DATABASE_URL and SVC_DB_URI", {}, { DATABASE_URL: uri, SVC_DB_URI: uri }, false],
  ["DATABASE_URL and an empty SVC_DB_URI", {}, { DATABASE_URL: uri, SVC_DB_URI: "" }, true],
  ["DATABASE_URL in PostgREST's dialect", {}, { DATABASE_URL: uri, SVC_DIALECT: "pgrst" }, false],
  ["DATABASE_URL and a file", { file: "svc.conf" }, { DATABASE_URL: uri }, false],
  ["--db-uri", { flags: flags("--db-uri") }, { DATABASE_URL: uri }, false],
  ["nothing", {}, {}, false],
];

for (const [title, call, environment, isQuick] of calls) {
  Deno.test(`isQuickMode() of ${title} is ${isQuick}`, () => {
    strictEqual(isQuickMode({ file: null, flags: new Map(), ...call }, environment), isQuick);
  });
}

const ports: readonly (readonly [used: readonly number[], port: number])[] = [
  [[], 3000],
  [[3000], 3001],
  [[3001], 3002],
  [[3000, 3002, 3004], 3005],
];

for (const [used, port] of ports) {
  Deno.test(`findPort() beside ${used.join(", ") || "no other server"} is ${port}`, async () => {
    strictEqual(await findPort((each) => Promise.resolve(!used.includes(each))), port);
  });
}

Deno.test("findPort() tries ports up to 3020", async () => {
  await rejects(findPort(() => Promise.resolve(false)), {
    message: "ports 3000 to 3020 are in use: give --port",
  });
  strictEqual(await findPort((port) => Promise.resolve(port >= 3020)), 3020);
});

Deno.test("findNextPort() takes the first free port after that of the API", async () => {
  const find = (port: number, ...used: readonly number[]) =>
    findNextPort(port, (each) => Promise.resolve(!used.includes(each)));
  deepStrictEqual(
    [await find(3000), await find(3000, 3001, 3002), await find(0), await find(65_534, 65_535)],
    [3001, 3003, 0, 65_535],
  );
});

const banner: Banner = {
  server: {
    database: "shop",
    version: "17.2",
    user: "me",
    maySetAnonRole: null,
    isSuperuser: false,
    bypassesRls: false,
    isStandby: false,
    isReadOnly: false,
    schemas: [],
    candidates: [],
  },
  choice: {
    schemas: ["public"],
    anonRole: "me",
    isLoginRole: true,
    hidesExtensionFunctions: false,
    warnings: ["One.", "Two."],
  },
  isReadOnly: true,
  api: "127.0.0.1:3000",
  admin: "127.0.0.1:3001",
  relations: 24,
  functions: 1,
  example: "film & co",
};

Deno.test("bannerText() shows addresses, database, warnings and a request", () => {
  strictEqual(
    bannerText(banner),
    `svc ${version}  →  http://127.0.0.1:3000   console http://127.0.0.1:3001
shop on PostgreSQL 17.2 as "me", schema public: 24 relations, 1 function
! One.
! Two.
Try:  curl 'http://127.0.0.1:3000/film%20%26%20co?limit=3'`,
  );
});

Deno.test("bannerText() leaves out what there is not, and names a standby", () => {
  const server = { ...banner.server, isStandby: true, isReadOnly: true };
  const choice = {
    ...banner.choice,
    schemas: ["a", "b"],
    anonRole: "web_anon",
    isLoginRole: false,
    warnings: [],
  };
  strictEqual(
    bannerText({ ...banner, server, choice, api: "0.0.0.0:1", admin: null, example: null }),
    `svc ${version}  →  http://127.0.0.1:1
shop on PostgreSQL 17.2 as "me", schemas a, b: 24 relations, 1 function
Requests without a token run as "web_anon"
! The server is a standby: requests can only read.
! default_transaction_read_only is on for this login: requests can only read here. A service with a \
file needs db-read-only = true for that.`,
  );
});

Deno.test("bannerText() says that db-read-only = false lets a read-only database be written", () => {
  const server = { ...banner.server, isReadOnly: true };
  strictEqual(
    bannerText({ ...banner, server, isReadOnly: false }).split("\n")[4],
    "! default_transaction_read_only is on for this login: requests can write, because " +
      "db-read-only is false.",
  );
});

Deno.test("watchFile() notices each change once", async () => {
  const clock = fakeClock();
  const states = new Map([["a", "1"]]);
  let changes = 0;
  const stop = watchFile({
    path: "a",
    onChange: () => changes++,
    schedule: clock.schedule,
    stateOf: (path) => states.get(path) ?? "absent",
  });
  await clock.pass(3000);
  strictEqual(changes, 0);
  states.set("a", "2");
  await clock.pass(1000);
  strictEqual(changes, 1);
  states.delete("a");
  await clock.pass(2000);
  strictEqual(changes, 2);
  stop();
  states.set("a", "3");
  await clock.pass(2000);
  strictEqual(changes, 2);
});

const reasons: readonly (readonly [reason: string, advice: string | null])[] = [
  ['password authentication failed for user "me"', "Correct the user or the password"],
  ['database "x" does not exist', "Create the database"],
  ['role "x" does not exist', "Create the role"],
  ["connect ECONNREFUSED 127.0.0.1:1", "Start PostgreSQL"],
  ["Connection refused (os error 111)", "Start PostgreSQL"],
  ["getaddrinfo ENOTFOUND nowhere", "Correct the host"],
  ["failed to lookup address information: Name or service not known", "Correct the host"],
  ["connection timed out", "Correct host and port"],
  ['no pg_hba.conf entry for host "1.2.3.4"', "Allow this login"],
  ["the server does not support SSL", "Correct sslmode"],
  ["out of memory", null],
];

for (const [reason, advice] of reasons) {
  Deno.test(`connectAdvice() of ${reason}`, () => {
    const found = connectAdvice(reason);
    deepStrictEqual(found === null ? null : found.startsWith(advice ?? "none"), advice && true);
  });
}
