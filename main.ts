/**
 * The process: from arguments to an exit code. No decisions.
 *
 * @module
 */
import {
  helpText,
  parseArguments,
  readyCheck,
  readyVerdict,
  usage,
  versionText,
} from "./src/cli.ts";
import type { Config } from "./src/config/options.ts";
import { dumpConfig, exampleFile } from "./src/config/print.ts";
import { dumpSchemaCache } from "./src/schema_cache/dump.ts";
import { Service } from "./src/service.ts";
import { openConfig, openFor } from "./src/serving/files.ts";
import { openLog } from "./src/serving/log.ts";
import { complain, fail, print, textOf } from "./src/serving/output.ts";
import { serve } from "./src/serving/serve.ts";

async function main(argv: readonly string[]): Promise<void> {
  const command = parseArguments(argv);
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
      return await once(
        command.file,
        async (service) => print(dumpConfig(await service.readConfig())),
      );
    case "dump-schema":
      return await once(command.file, dumpSchema);
    case "types":
      return await once(command.file, printTypes);
    case "ready":
      return await askReady(openConfig(command.file).config);
    case "run":
      return await run(command.file);
    default:
      return command satisfies never;
  }
}

/** Does one thing with a service that serves nothing, and ends the process. */
async function once(
  file: string | null,
  work: (service: Service) => Promise<void>,
): Promise<never> {
  const { config, first } = openConfig(file);
  const log = openLog(config.logLevel);
  try {
    const database = await openFor(config, file);
    const { observe } = log;
    const source = () => first;
    // What ends a service makes the work reject.
    const onFatal = () => {};
    const service = await Service.create({ source, database, now: Date.now, observe, onFatal });
    await work(service);
    await service.close();
  } catch (error) {
    await log.flush();
    fail(textOf(error));
  }
  await log.flush();
  Deno.exit(0);
}

async function dumpSchema(service: Service): Promise<void> {
  const data = await service.readSchema();
  if (data === null) throw new Error("the schema cache cannot be loaded");
  print(dumpSchemaCache(data) + "\n");
}

async function printTypes(service: Service): Promise<void> {
  const { databaseTypes, readTypeCatalogue } = await import("./src/types_output/database_types.ts");
  const config = await service.readConfig();
  const data = await service.readSchema();
  if (data === null) throw new Error("the schema cache cannot be loaded");
  print(databaseTypes(data, await readTypeCatalogue(service.database, config), config));
}

async function askReady(config: Config): Promise<void> {
  const check = readyCheck(config);
  if (check.kind === "problem") return verdict({ ready: false, message: check.message });
  const status = await fetch(check.url, { redirect: "manual" }).then(
    async (response) => (await response.body?.cancel(), response.status),
    () => null,
  );
  verdict(readyVerdict(check.url, status));
}

function verdict({ ready, message }: ReturnType<typeof readyVerdict>): void {
  if (ready) print(`${message}\n`);
  else complain(message);
  Deno.exit(ready ? 0 : 1);
}

async function run(file: string | null): Promise<void> {
  const reader = openConfig(file);
  const log = openLog(reader.config.logLevel);
  try {
    await serve(reader, log);
  } catch (error) {
    await log.flush();
    fail(textOf(error));
  }
  await log.flush();
  Deno.exit(0);
}

await main(Deno.args);
