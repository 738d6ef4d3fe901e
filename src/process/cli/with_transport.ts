/** Runs a task with one connection, for requests that are rolled back. @module */
import { isEmbedded } from "../../database/open.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { openConfiguredTransport } from "../../state/config/config_files.ts";
import { CannotConnectError } from "../../base/errors/connect_error.ts";
import { openLog } from "../server/log.ts";
import { callWords } from "../../state/config/call_words.ts";
import { hostOf, wings } from "../wings.ts";
import { openStart } from "./start.ts";
import type { ConfigArguments } from "../../state/config/config_files.ts";
import { errorMessage } from "../../base/errors/error_message.ts";
import type { TransportSetup } from "../../api/command.ts";

/** Runs a task, and resolves with its exit code. Rejects with `CannotConnectError` if it cannot connect. */
export async function withTransport(
  args: ConfigArguments,
  run: (setup: TransportSetup) => Promise<number>,
): Promise<number> {
  const start = await openStart(args, { ports: "serves nothing" });
  const { config, file, initialSource: source } = start.reader;
  await start.database?.close();
  if (hostOf(config) !== null) throw new Error("tenants: give a configuration without tenants");
  const { transport, close } = await openConfiguredTransport(config, file).catch((error) => {
    if (isEmbedded(config.dbUri)) throw error;
    throw new CannotConnectError(errors.cannotConnect(errorMessage(error)));
  });
  const { observe: log, flush } = openLog(config, callWords(args));
  const observe = (event: Observation) => /-failed$|^unexpected/.test(event.kind) && log(event);
  try {
    return await run({ source, observe, wings, now: Date.now, transport });
  } finally {
    await close();
    await flush();
  }
}
