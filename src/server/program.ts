/**
 * The program: runs the command that the arguments name and returns an exit code.
 *
 * @module
 */
import {
  type Command,
  helpText,
  parseArguments,
  readyCheck,
  readyVerdict,
  usage,
  versionText,
} from "./cli.ts";
import type { Config } from "../config/options.ts";
import { dumpConfig, exampleFile } from "../config/print.ts";
import { dumpSchemaCache } from "../schema_cache/dump.ts";
import { Service } from "../service/service.ts";
import { configReader, openConfiguredDatabase } from "./config_files.ts";
import { openLog } from "./log.ts";
import { errorMessage, fail, print, printError } from "./output.ts";
import { serve } from "./serve.ts";
import { ReloadSignals } from "./signals.ts";

/** Runs the command of the arguments. Resolves with the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    return await run(parseArguments(argv)) ?? 0;
  } catch (error) {
    return fail(errorMessage(error));
  }
}

async function run(command: Command): Promise<number | void> {
  switch (command.kind) {
    case "help":
      return print(helpText());
    case "version":
      return print(versionText());
    case "example":
      return print(exampleFile());
    case "error":
      return fail(`${command.message}\n${usage().trimEnd()}`);
    case "dump-config":
      return await withService(
        command.file,
        async (service) => print(dumpConfig(await service.readConfig())),
      );
    case "dump-schema":
      return await withService(command.file, dumpSchema);
    case "types":
      return await withService(command.file, printTypes);
    case "ready":
      return await checkReady(configReader(command.file).config);
    case "run":
      return await serveFile(command.file);
    default:
      return command satisfies never;
  }
}

/** Runs one task with a service that serves no requests. */
async function withService(
  file: string | null,
  run: (service: Service) => Promise<void>,
): Promise<void> {
  const { config, initialSource } = configReader(file);
  const log = openLog(config.logLevel);
  try {
    const database = await openConfiguredDatabase(config, file);
    const { observe } = log;
    const source = () => initialSource;
    // A fatal failure also rejects the task, which ends the process.
    const onFatal = () => {};
    const service = await Service.create({ source, database, now: Date.now, observe, onFatal });
    await run(service);
    await service.close();
  } finally {
    await log.flush();
  }
}

async function dumpSchema(service: Service): Promise<void> {
  const data = await service.readSchema();
  if (data === null) throw new Error("the schema cache cannot be loaded");
  print(dumpSchemaCache(data) + "\n");
}

async function printTypes(service: Service): Promise<void> {
  const { databaseTypes, readTypeCatalogue } = await import("../types_output/database_types.ts");
  const config = await service.readConfig();
  const data = await service.readSchema();
  if (data === null) throw new Error("the schema cache cannot be loaded");
  print(databaseTypes(data, await readTypeCatalogue(service.database, config), config));
}

async function checkReady(config: Config): Promise<number> {
  const check = readyCheck(config);
  if (check.kind === "problem") return verdict({ ready: false, message: check.message });
  for (const url of check.urls) {
    const status = await statusOf(url);
    if (status !== null) return verdict(readyVerdict(url, status));
  }
  return verdict(readyVerdict(check.urls[0]!, null));
}

/** Resolves with the status of the response, or with null if the request fails. */
async function statusOf(url: string): Promise<number | null> {
  try {
    const response = await fetch(url, { redirect: "manual" });
    await response.body?.cancel();
    return response.status;
  } catch {
    return null;
  }
}

function verdict({ ready, message }: ReturnType<typeof readyVerdict>): number {
  if (ready) print(`${message}\n`);
  else printError(message);
  return ready ? 0 : 1;
}

async function serveFile(file: string | null): Promise<number> {
  // Listeners are added first, so that no signal after the read of the configuration is lost.
  const reloads = new ReloadSignals();
  const reader = configReader(file);
  const log = openLog(reader.config.logLevel);
  try {
    return await serve({ reader, log, reloads });
  } finally {
    await log.flush();
  }
}
