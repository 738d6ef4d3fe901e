/** Runs the command that the arguments name. Returns an exit code. @module */
import process from "node:process";
import { noServeFlags, parseArguments, type ParsedCall } from "./arguments.ts";
import type { Command, CommandCall, ServeEvents } from "../../api/command.ts";
import { commands } from "./commands.ts";
import { configReader } from "../../state/config/config_files.ts";
import { CannotConnectError } from "../../base/errors/connect_error.ts";
import { watchFile } from "./file_watch.ts";
import { helpText, usage, versionText } from "./help.ts";
import { openGuardOf } from "../../api/handler/handler.ts";
import { openLog } from "../server/log.ts";
import { fail, print, printError } from "../../base/observe/output.ts";
import { openBrowser } from "./open_browser.ts";
import { programCall } from "../../base/lib/program_call.ts";
import { callWords } from "../../state/config/call_words.ts";
import { quickObserver, readyObserver } from "./quick/quick_report.ts";
import { askReady } from "./ready.ts";
import { secretWarnings } from "./secret_flags.ts";
import { openStart } from "./start.ts";
import { refuseTenants, withAppState, withDatabase } from "./with_app_state.ts";
import { ConfigError } from "../../state/config/config_error.ts";
import type { Config } from "../../state/config/options.ts";
import { dumpConfig, exampleFile } from "../../state/config/print.ts";
import { ConnectionClosedError } from "../../database/connection/sql_session.ts";
import { svcDialect } from "../../base/dialect.ts";
import { dumpSchemaCache } from "../../state/schema_cache/dump.ts";
import type { AppState } from "../../state/app_state/app_state.ts";
import { schedule } from "../../base/lib/timers.ts";
import { serve } from "../server/serve.ts";
import { serveTenants } from "../server/serve_tenants.ts";
import { ReloadSignals } from "../server/signals.ts";
import type { ConfigArguments } from "../../state/config/config_files.ts";
import { errorMessage } from "../../base/errors/error_message.ts";
import { isFile } from "../../base/lib/files.ts";
import { withTransport } from "./with_transport.ts";
import { usualFile, withUsualFile } from "./usual_file.ts";
import { hostOf, recordSql, wingOptions, wings } from "../wings.ts";

/** Runs the program with arguments. Resolves with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  const parsed = parseArguments(argv, { commands, isFile });
  const call = withUsualFile(parsed, { environment: process.env, isFile });
  try {
    return await run(call) ?? 0;
  } catch (error) {
    const lines = error instanceof ConfigError ? error.problems.map(errorMessage) : [
      errorMessage(error),
    ];
    for (const line of lines) fail(line);
    const { config = null } = "config" in call ? call : call.kind === "command" ? call.call : {};
    if (config?.file === null && error instanceof ConfigError) fail(nextStep());
    const isOffline = error instanceof CannotConnectError || error instanceof ConnectionClosedError;
    const code = failureCode(call);
    return code === 2 && isOffline ? 3 : code;
  }
}

function failureCode(call: ParsedCall): number {
  return "command" in call ? call.command?.failureCode ?? 1 : 1;
}

/** Returns advice for a call that names no configuration file. */
const nextStep = () =>
  isFile(usualFile)
    ? `${usualFile} was not read, since arguments or the environment name a database: name it, too`
    : `no configuration file was read: name one or a database, such as ${programCall()} ` +
      `postgres://user@localhost:5432/shop; ${programCall()} demo serves an example`;

async function run(call: ParsedCall): Promise<number | void> {
  switch (call.kind) {
    case "help":
      return print(helpText(call.command, commands));
    case "version":
      return print(versionText());
    case "example":
      return print(exampleFile(wingOptions));
    case "error":
      fail(`${call.message}\n${usage(call.command, commands).trimEnd()}`);
      return failureCode(call);
    case "command":
      warnOfSecrets(call.call.config);
      return await runCommand(call.command, call.call);
    default:
      warnOfSecrets(call.config);
      return await runMode(call);
  }
}

function runCommand({ run }: Command, call: CommandCall): Promise<number> {
  return run(call, {
    openGuard: openGuardOf(wings),
    recordSql,
    serve: serveConfig,
    withDatabase,
    withTransport,
    wingOptions,
  });
}

async function runMode(
  { kind, config, serving }: Extract<ParsedCall, { readonly config: ConfigArguments }>,
): Promise<number | void> {
  switch (kind) {
    case "dump-config":
      return await withAppState(
        config,
        async (appState) => print(dumpConfig(await appState.readConfig())),
        (ofProcess) => print(dumpConfig(ofProcess)),
      );
    case "dump-schema":
      return await withAppState(config, dumpSchema);
    case "types":
      return await runCommand(commands.find(({ name }) => name === kind)!, {
        config,
        flags: new Map(),
        operands: [],
      });
    case "ready":
      return await printReady(configReader(config, { wingOptions }).config);
    case "run":
      return await serveConfig(config, {}, serving);
    default:
      return kind satisfies never;
  }
}

function warnOfSecrets({ flags }: ConfigArguments): void {
  for (const line of secretWarnings(flags)) printError(`${svcDialect.productToken}: ${line}`);
}

async function dumpSchema(appState: AppState): Promise<void> {
  print(dumpSchemaCache(await appState.readSchema()) + "\n");
}

async function printReady(config: Config): Promise<number> {
  const { isReady, message } = await askReady(config);
  if (isReady) print(`${message}\n`);
  else printError(message);
  return isReady ? 0 : 1;
}

async function serveConfig(
  args: ConfigArguments,
  events: ServeEvents = {},
  flags = noServeFlags,
): Promise<number> {
  // Listens before it reads the configuration, so that a signal during the read causes a reload later.
  const reloads = new ReloadSignals();
  const defaults = flags.watches ? watchDefaults : {};
  const { reader, database, quick } = await openStart(args, { ports: "serves", defaults });
  const call = callWords(args);
  const log = openLog(reader.config, call);
  const onReady = (origin: string | null) => {
    events.onListening?.(reader.config);
    if (flags.opensConsole && origin !== null) openBrowser(origin);
  };
  const observe = quick === null || database === null
    ? readyObserver(log.observe, onReady)
    : quickObserver(log.observe, { quick, database, onReady });
  const { file } = reader;
  const common = { reader, log: { ...log, observe }, reloads };
  const onChange = () => reloads.request("reloadConfig");
  const stopWatching = flags.watches && file !== null
    ? watchFile({ path: file, onChange, schedule })
    : () => {};
  try {
    const host = hostOf(reader.config);
    if (host !== null) {
      if (events.front !== undefined) refuseTenants();
      return await serveTenants({ ...common, host });
    }
    const { front, wings, opensConsole = quick !== null } = events;
    const choice = quick?.choice ?? null;
    return await serve({ ...common, call, database, quick: choice, opensConsole, front, wings });
  } finally {
    stopWatching();
    await log.flush();
  }
}

/** Defaults of options if the flag `--watch` is set. */
const watchDefaults: Partial<Config> = { dbSchemaWatch: "auto" };
