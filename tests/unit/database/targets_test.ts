import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import { connectionTargets, type SessionTarget } from "../../../src/database/targets.ts";

type Place = readonly [host: unknown, port: unknown];

const places: readonly (readonly [text: string, servers: readonly Place[]])[] = [
  ["postgres://", [[undefined, undefined]]],
  ["postgresql://h", [["h", undefined]]],
  ["postgres://h:5433/db", [["h", 5433]]],
  ["postgres://a,b/db", [["a", undefined], ["b", undefined]]],
  ["postgres://a:1,b:2,c/db", [["a", 1], ["b", 2], ["c", undefined]]],
  ["postgres://u:p@a:1,b:2/db?sslmode=disable", [["a", 1], ["b", 2]]],
  ["postgres://a,b/db?port=7", [["a", 7], ["b", 7]]],
  ["postgres:///db?host=a,b&port=1,2", [["a", 1], ["b", 2]]],
  ["postgres://ignored/db?host=%2Frun%2Fpg", [["/run/pg", undefined]]],
  ["postgres://%2Frun%2Fpg/db", [["/run/pg", undefined]]],
  ["postgres://[::1]:5433,[fe80::1]/db", [["::1", 5433], ["fe80::1", undefined]]],
  ["postgres://name/db?hostaddr=10.0.0.1,10.0.0.2", [["10.0.0.1", undefined], [
    "10.0.0.2",
    undefined,
  ]]],
  ["host=a,b port=1,2 dbname=db", [["a", 1], ["b", 2]]],
  ["host=a,b port=1", [["a", 1], ["b", 1]]],
  ["host=/run/pg user=u", [["/run/pg", undefined]]],
  ["dbname=db", [[undefined, undefined]]],
];

for (const [text, expected] of places) {
  Deno.test(`connectionTargets tries the servers of ${text} in order`, () => {
    const { servers } = connectionTargets(text);
    deepStrictEqual(servers.map(({ host, port }) => [host, port]), expected);
  });
}

const logins: readonly (readonly [text: string, user: string, password: string, db: unknown])[] = [
  ["postgres://u:p@h/db", "u", "p", "db"],
  ["postgres://u:p%40ss@h/db", "u", "p@ss", "db"],
  ["postgres://u:p?ss@a,b/db", "u", "p?ss", "db"],
  ["postgres://u:p#s:s@h/db", "u", "p#s:s", "db"],
  ["postgres://u:p@ss@h/db", "u", "p@ss", "db"],
  ["postgres://u:100%@h/db", "u", "100%", "db"],
  ["postgres://u%20v:p@/my%20db", "u v", "p", "my db"],
  ["host=h user=u password='p ?' dbname=db", "u", "p ?", "db"],
];

for (const [text, ...expected] of logins) {
  Deno.test(`connectionTargets reads user and password of ${text}`, () => {
    const { user, password, database } = connectionTargets(text).servers[0]!;
    deepStrictEqual([user, password, database], expected);
  });
}

const sessions: readonly (readonly [text: string, session: SessionTarget])[] = [
  ["postgres://h/db", "any"],
  ["postgres://h/db?target_session_attrs=read-only", "read-only"],
  ["postgres://a,b?target_session_attrs=prefer-standby", "prefer-standby"],
  ["host=h target_session_attrs=primary", "primary"],
  ["host=h target_session_attrs='standby'", "standby"],
  ["postgres://h/db?target_session_attrs=any", "any"],
];

for (const [text, session] of sessions) {
  Deno.test(`connectionTargets reads what the session of ${text} is for`, () => {
    strictEqual(connectionTargets(text).session, session);
  });
}

Deno.test("connectionTargets takes from the environment what the string leaves open", () => {
  const environment = { PGHOST: "a,b", PGPORT: "1,2", PGTARGETSESSIONATTRS: "standby" };
  for (const text of ["postgres://", "postgres://u@/db", "user=u"]) {
    const { servers, session } = connectionTargets(text, environment);
    deepStrictEqual(servers.map(({ host, port }) => [host, port]), [["a", 1], ["b", 2]]);
    strictEqual(session, "standby");
  }
  const given = connectionTargets("postgres://h:3/db?target_session_attrs=any", environment);
  deepStrictEqual([given.servers[0]!["host"], given.servers[0]!["port"]], ["h", 3]);
  strictEqual(given.session, "any");
});

const encryption: readonly (readonly [text: string, ssl: unknown])[] = [
  ["postgres://h", undefined],
  ["postgres://h?sslmode=disable", false],
  ["postgres://h?sslmode=allow", false],
  ["postgres://h?sslmode=prefer", { rejectUnauthorized: false }],
  ["postgres://h?sslmode=require", { rejectUnauthorized: false }],
  ["postgres://h?sslmode=verify-full", {}],
];

for (const [text, ssl] of encryption) {
  Deno.test(`connectionTargets encrypts as ${text} says`, () => {
    deepStrictEqual(connectionTargets(text).servers[0]!["ssl"], ssl);
  });
}

const refused: readonly (readonly [text: string, message: string])[] = [
  ["postgres://a:1,b:2/db?port=1,2,3", "could not match 3 port numbers to 2 hosts"],
  ["host=a,b,c port=1,2", "could not match 2 port numbers to 3 hosts"],
  ["postgres://h:99999/db", "the connection string has an invalid port number"],
  ["postgres://user:secret/word@h/db", "the connection string has an invalid port number"],
  ["host=h port=0", "the connection string has an invalid port number"],
  ["postgres://h?target_session_attrs=write", 'invalid target_session_attrs value: "write"'],
  ["host=h target_session_attrs=READ-ONLY", 'invalid target_session_attrs value: "READ-ONLY"'],
];

for (const [text, message] of refused) {
  Deno.test(`connectionTargets refuses ${text}`, () => {
    throws(() => connectionTargets(text), { message });
    ok(!message.includes("secret"));
  });
}
