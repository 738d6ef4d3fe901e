import { strictEqual } from "node:assert/strict";
import { CannotConnectError } from "../../../../src/base/errors/connect_error.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";

const rows: readonly (readonly [reason: string, message: string])[] = [
  [
    'connection to server at "h", port 1 failed: Connection refused\n\tIs the server running on ' +
    "that host and accepting TCP/IP connections?\n",
    'connection to server at "h", port 1 failed: Connection refused\n  Is the server running on ' +
    "that host and accepting TCP/IP connections?\n" +
    "Start PostgreSQL, or correct host and port in the connection string.",
  ],
  [
    'FATAL:  role "me" does not exist',
    'role "me" does not exist\nCreate the role, or correct the user.',
  ],
  ["something\u001b[2J else\r\n\r\npassword=secret", "something [2J else\n  password=***"],
];

for (const [reason, message] of rows) {
  Deno.test(`CannotConnectError says ${JSON.stringify(message)}`, () => {
    const error = new CannotConnectError(errors.cannotConnect(reason));
    strictEqual(error.message, `cannot connect to the database: ${message}`);
  });
}
