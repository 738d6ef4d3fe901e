import { deepStrictEqual } from "node:assert/strict";
import { EventEmitter } from "node:events";
import {
  type AuthEvents,
  type AuthMessage,
  guardAuthentication,
} from "../../../../src/database/connect/auth_requirements.ts";

const password: AuthStep = ["authenticationCleartextPassword"];
const md5: AuthStep = ["authenticationMD5Password"];
const scram: AuthStep = ["authenticationSASL", { mechanisms: ["SCRAM-SHA-256"] }];
const bound: AuthStep = [
  "authenticationSASL",
  { mechanisms: ["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"] },
];
const proof: AuthStep = ["authenticationSASLFinal"];
const done: AuthStep = ["authenticationOk"];

type AuthStep = readonly [event: string, message?: AuthMessage];

const noBinding = "channel binding required but not supported by server's authentication request";

function failed(list: string, what: string): string {
  return `authentication method requirement "${list}" failed: ${what}`;
}

/** What is demanded, what the server sends, and which of it is answered, or the first error. */
const rows: readonly (readonly [
  requireAuth: string,
  channelBinding: string,
  steps: readonly AuthStep[],
  outcome: number | string,
])[] = [
  ["", "", [password, done], 2],
  ["", "prefer", [done], 1],
  ["password", "", [password, done], 2],
  ["md5,scram-sha-256", "", [md5, done], 2],
  ["scram-sha-256", "", [scram, proof, done], 3],
  ["!password", "", [bound, proof, done], 3],
  ["none", "", [done], 1],
  ["!md5", "", [done], 1],
  ["", "require", [bound, proof, done], 3],
  ["scram-sha-256", "require", [bound, proof, done], 3],
  [
    "scram-sha-256",
    "",
    [password],
    failed("scram-sha-256", "server requested a cleartext password"),
  ],
  ["!md5", "", [md5], failed("!md5", "server requested a hashed password")],
  ["md5", "", [scram], failed("md5", "server requested SCRAM-SHA-256 authentication")],
  ["md5", "", [done], failed("md5", "server did not complete authentication")],
  [
    "scram-sha-256",
    "",
    [scram, done],
    failed("scram-sha-256", "server did not complete authentication"),
  ],
  ["!none", "", [done], failed("!none", "server did not complete authentication")],
  ["", "require", [password], noBinding],
  ["", "require", [md5], noBinding],
  ["", "require", [scram], noBinding],
  ["", "require", [done], noBinding],
  ["none", "require", [done], noBinding],
  ["", "require", [bound, done], noBinding],
];

for (const [requireAuth, channelBinding, steps, outcome] of rows) {
  const shown = steps.map(([event]) => event.slice("authentication".length)).join(", ");
  const demands = [requireAuth, channelBinding].filter((part) => part !== "").join(" and ");
  Deno.test(`guardAuthentication answers ${shown} under "${demands}" with ${outcome}`, () => {
    const connection = new EventEmitter();
    const answered: string[] = [];
    const errors: string[] = [];
    connection.on("error", (error: Error) => errors.push(error.message));
    for (const event of new Set([...steps, password, md5, scram, proof].map(([name]) => name))) {
      connection.on(event, () => answered.push(event));
    }
    guardAuthentication(connection as unknown as AuthEvents, {
      require_auth: requireAuth,
      channel_binding: channelBinding,
    });
    for (const [event, message = {}] of steps) connection.emit(event, message);
    deepStrictEqual(
      [answered.length, errors],
      typeof outcome === "number" ? [outcome, []] : [steps.length - 1, [outcome]],
    );
  });
}
