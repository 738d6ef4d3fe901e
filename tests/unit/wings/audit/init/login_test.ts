import { deepStrictEqual, match, notStrictEqual, strictEqual } from "node:assert/strict";
import {
  loginOf,
  loginUri,
  randomText,
  scramVerifier,
} from "../../../../../src/wings/audit/init/login.ts";

const login = { user: "au th", password: "p@ss/w?", database: "sh op" };

const rows: readonly (readonly [connection: string, expected: string])[] = [
  [
    "postgres://me:pw@localhost:5432/shop",
    "postgres://au%20th:p%40ss%2Fw%3F@localhost:5432/sh%20op",
  ],
  ["postgresql://localhost", "postgres://au%20th:p%40ss%2Fw%3F@localhost/sh%20op"],
  ["postgres:///shop?host=/run", "postgres://au%20th:p%40ss%2Fw%3F@/sh%20op?host=/run"],
  [
    "postgres://a,b:5433/x?sslmode=require&user=me&password=pw&dbname=y",
    "postgres://au%20th:p%40ss%2Fw%3F@a,b:5433/sh%20op?sslmode=require",
  ],
  ["postgres://me:p@ss@[::1]:5432/shop", "postgres://au%20th:p%40ss%2Fw%3F@[::1]:5432/sh%20op"],
  [
    "host=localhost dbname=shop user=me password=pw sslmode=require",
    "postgres://au%20th:p%40ss%2Fw%3F@/sh%20op?host=localhost&sslmode=require",
  ],
  ["host='/my run' user=me", "postgres://au%20th:p%40ss%2Fw%3F@/sh%20op?host=%2Fmy%20run"],
];

for (const [connection, expected] of rows) {
  Deno.test(`loginUri() changes the login of ${connection}`, () => {
    strictEqual(loginUri(connection, login), expected);
    deepStrictEqual(loginOf(loginUri(connection, login)), login);
  });
}

Deno.test("loginUri() leaves an unknown password out", () => {
  const plain = { user: "a", password: null, database: "d" };
  strictEqual(loginUri("postgres://me:pw@h/x", plain), "postgres://a@h/d");
  strictEqual(loginUri("host=h password=pw", plain), "postgres://a@/d?host=h");
});

Deno.test("scramVerifier() returns the verifier of RFC 7677, section 3", () => {
  const salt = Uint8Array.from(atob("W22ZaJ0SNY7soEsUEjb6gQ=="), (text) => text.charCodeAt(0));
  strictEqual(
    scramVerifier("pencil", salt),
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$" +
      "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
  );
});

Deno.test("scramVerifier() takes another salt each time", () => {
  notStrictEqual(scramVerifier("pencil"), scramVerifier("pencil"));
});

Deno.test("randomText() returns characters that need no escape", () => {
  for (let count = 0; count < 50; count++) match(randomText(24), /^[A-Za-z0-9_-]{32}$/);
});
