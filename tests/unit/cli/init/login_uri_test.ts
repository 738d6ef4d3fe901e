import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { loginOf, loginUri } from "../../../../src/cli/init/login_uri.ts";

const login = { user: "au th", password: "p@ss/w?", database: "sh op" };

const rows: readonly (readonly [connection: string, expected: string])[] = [
  [
    "postgres://me:pw@localhost:5432/shop",
    "postgres://au%20th:p%40ss%2Fw%3F@localhost:5432/sh%20op",
  ],
  ["postgresql://localhost", "postgresql://au%20th:p%40ss%2Fw%3F@localhost/sh%20op"],
  ["postgres:///shop?host=/run", "postgres://au%20th:p%40ss%2Fw%3F@/sh%20op?host=/run"],
  [
    "postgres://a,b:5433/x?sslmode=require&user=me&password=pw&dbname=y",
    "postgres://au%20th:p%40ss%2Fw%3F@a,b:5433/sh%20op?sslmode=require",
  ],
  ["postgres://me:p@ss@[::1]:5432/shop", "postgres://au%20th:p%40ss%2Fw%3F@[::1]:5432/sh%20op"],
  [
    "host=localhost dbname=shop user=me password=pw sslmode=require",
    "host=localhost sslmode=require dbname='sh op' user='au th' password='p@ss/w?'",
  ],
  ["host='/my run' user=me", "host='/my run' dbname='sh op' user='au th' password='p@ss/w?'"],
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
  strictEqual(loginUri("host=h password=pw", plain), "host=h dbname=d user=a");
});
