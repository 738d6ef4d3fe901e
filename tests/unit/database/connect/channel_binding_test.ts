import { deepStrictEqual } from "node:assert/strict";
import { EventEmitter } from "node:events";
import {
  type AuthEvents,
  type AuthMessage,
  requireChannelBinding,
} from "../../../../src/database/connect/pg_client.ts";

type AuthStep = readonly [event: string, message?: AuthMessage];

const password: AuthStep = ["authenticationCleartextPassword"];
const md5: AuthStep = ["authenticationMD5Password"];
const scram: AuthStep = ["authenticationSASL", { mechanisms: ["SCRAM-SHA-256"] }];
const bound: AuthStep = [
  "authenticationSASL",
  { mechanisms: ["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"] },
];
const proof: AuthStep = ["authenticationSASLFinal"];
const done: AuthStep = ["authenticationOk"];

/** What the server sends, and whether all of it is answered; else the last step is an error. */
const rows: readonly (readonly [steps: readonly AuthStep[], isAnswered: boolean])[] = [
  [[bound, proof, done], true],
  [[password], false],
  [[md5], false],
  [[scram], false],
  [[done], false],
  [[bound, done], false],
];

for (const [steps, isAnswered] of rows) {
  const shown = steps.map(([event, { mechanisms = [] } = {}]) => `${event} ${mechanisms}`).join();
  Deno.test(`requireChannelBinding() ${isAnswered ? "answers" : "refuses"} ${shown}`, () => {
    const connection = new EventEmitter();
    const answered: string[] = [];
    const errors: string[] = [];
    connection.on("error", (error: Error) => errors.push(error.message));
    for (const [event] of [password, md5, scram, proof, done]) {
      connection.on(event, () => answered.push(event));
    }
    requireChannelBinding(connection as unknown as AuthEvents);
    for (const [event, message = {}] of steps) connection.emit(event, message);
    const refused = "channel binding required but not supported by server's authentication request";
    deepStrictEqual(
      [answered.length, errors],
      isAnswered ? [steps.length, []] : [steps.length - 1, [refused]],
    );
  });
}
