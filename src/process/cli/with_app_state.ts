/** Runs a command with a service that serves no requests. @module */
import { AppState } from "../../state/app_state/app_state.ts";
import { openConfiguredDatabase } from "../../state/config/config_files.ts";
import { CannotConnectError } from "../../base/errors/connect_error.ts";
import type { Config } from "../../state/config/options.ts";
import { openLog } from "../server/log.ts";
import { callWords } from "../../state/config/call_words.ts";
import { openStart } from "./start.ts";
import type { QuickStart } from "./quick/quick_defaults.ts";
import type { ConfigArguments } from "../../state/config/config_files.ts";
import type { QuickSettings } from "../../api/command.ts";
import { hostOf } from "../wings.ts";

/** Runs a task with a service that serves no requests. If the configuration has tenants, calls
 * `withTenants` instead. Rejects if the configuration is invalid, or if the task rejects. */
export async function withAppState<Result>(
  args: ConfigArguments,
  run: (appState: AppState, quick: QuickStart | null) => Promise<Result>,
  withTenants: (config: Config) => Result = refuseTenants,
): Promise<Result> {
  const { reader, database: opened, quick } = await openStart(args, { ports: "serves nothing" });
  const { config, file, initialSource } = reader;
  if (hostOf(config) !== null) return withTenants(config);
  const log = openLog(config, callWords(args));
  try {
    const database = opened ?? await openConfiguredDatabase(config, file);
    await database.embedded?.start();
    const { observe } = log;
    const source = () => initialSource;
    // Nothing is done here: after a fatal failure the task rejects, which ends the process.
    const onFatal = () => {};
    const appState = await AppState.create({ source, database, now: Date.now, observe, onFatal });
    const result = await run(appState, quick);
    await appState.close();
    return result;
  } finally {
    await log.flush();
  }
}

/** Like {@linkcode withAppState}, but rejects with `CannotConnectError` if no database is reachable. */
export async function withDatabase(
  args: ConfigArguments,
  run: (appState: AppState, quick: QuickSettings | null) => Promise<number>,
): Promise<number> {
  return await withAppState(args, async (appState, quick) => {
    await appState.database.version().catch((thrown) => {
      throw new CannotConnectError(thrown);
    });
    return await run(appState, quick?.choice ?? null);
  });
}

/** Throws the error of commands that do not support tenants. */
export function refuseTenants(): never {
  throw new Error("tenants: this command reads one database: give a configuration without tenants");
}
