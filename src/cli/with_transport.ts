/** Runs a task with one connection of the configuration, for commands that send requests in a transaction
 * that rolls back. @module */
import { dirname, resolve } from "node:path";
import { isEmbedded } from "../database/open.ts";
import { svcDialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import { parseCaseFile } from "../policy_test/case_file.ts";
import { FixtureError, type FixtureScript } from "../policy_test/fixtures.ts";
import type { Observation } from "../observe/observation.ts";
import type { RunSetup } from "../policy_test/case_handler.ts";
import type { ConfigArguments } from "./command.ts";
import { openConfiguredTransport, readBytes, shortPath } from "./config_files.ts";
import { CannotConnectError } from "./connect_error.ts";
import { openLog } from "./log.ts";
import { errorMessage, printError } from "./output.ts";
import { callWords } from "./program_call.ts";
import { failureLines } from "./sql_output.ts";
import { openStart } from "./start.ts";

const cannotConnect = 3;

/** Runs a task, and resolves with its exit code, or with 3 without a connection. */
export async function withTransport(
  args: ConfigArguments,
  run: (setup: RunSetup) => Promise<number>,
): Promise<number> {
  const connected = await connect(args).catch((error) => {
    if (!(error instanceof CannotConnectError)) throw error;
    printError(`${svcDialect.productToken}: ${error.message}`);
    return null;
  });
  if (connected === null) return cannotConnect;
  const { config, source, transport, close } = connected;
  const { observe: log, flush } = openLog(config, callWords(args));
  const observe = (event: Observation) => /-failed$|^unexpected/.test(event.kind) && log(event);
  try {
    return await run({ source, observe, now: Date.now, transport, readInclude });
  } catch (error) {
    if (!(error instanceof FixtureError)) throw error;
    throw new Error(failureLines(error.result, error.script).join("\n"), { cause: error });
  } finally {
    await close();
    await flush();
  }
}

async function connect(args: ConfigArguments) {
  const start = await openStart(args, { ports: "serves nothing" });
  const { config, file, initialSource: source } = start.reader;
  await start.database?.close();
  if (config.tenants !== null) throw new Error("tenants: give a configuration without tenants");
  const opened = await openConfiguredTransport(config, file).catch((error) => {
    if (isEmbedded(config.dbUri)) throw error;
    throw new CannotConnectError(errors.cannotConnect(errorMessage(error)));
  });
  return { config, source, ...opened };
}

/** Reads a file of cases. Throws an `Error` with the place of a fault. */
export function readCases(path: string) {
  const text = readText(path);
  try {
    return { name: shortPath(path), path, text, file: parseCaseFile(text) };
  } catch (error) {
    throw new Error(`cannot run ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

function readInclude(path: string, { name }: FixtureScript): FixtureScript {
  const included = resolve(dirname(name), path);
  return { name: shortPath(included), text: readText(included) };
}

function readText(path: string): string {
  try {
    return new TextDecoder().decode(readBytes(path).content);
  } catch (error) {
    throw new Error(`${shortPath(path)}: ${errorMessage(error)}`, { cause: error });
  }
}
