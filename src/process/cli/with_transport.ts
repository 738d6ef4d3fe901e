/** Runs a task with one connection of the configuration, for requests that roll back. @module */
import { dirname, resolve } from "node:path";
import { isEmbedded } from "../../database/open.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { parseCaseFile } from "../../wings/audit/policy_test/case_file.ts";
import type { FixtureScript } from "../../wings/audit/policy_test/fixtures.ts";
import type { Observation } from "../../base/observe/observation.ts";
import type { RunSetup } from "../../wings/audit/policy_test/case_handler.ts";
import { openConfiguredTransport } from "../../state/config/config_files.ts";
import { CannotConnectError } from "./connect_error.ts";
import { openLog } from "../server/log.ts";
import { callWords } from "../../state/config/call_words.ts";
import { openStart } from "./start.ts";
import type { ConfigArguments } from "../../state/config/config_files.ts";
import { readBytes, shortPath } from "../../base/lib/files.ts";
import { errorMessage } from "../../base/errors/error_message.ts";

/** Runs a task, and resolves with its exit code. Rejects with `CannotConnectError` without a connection. */
export async function withTransport(
  args: ConfigArguments,
  run: (setup: RunSetup) => Promise<number>,
): Promise<number> {
  const start = await openStart(args, { ports: "serves nothing" });
  const { config, file, initialSource: source } = start.reader;
  await start.database?.close();
  if (config.tenants !== null) throw new Error("tenants: give a configuration without tenants");
  const { transport, close } = await openConfiguredTransport(config, file).catch((error) => {
    if (isEmbedded(config.dbUri)) throw error;
    throw new CannotConnectError(errors.cannotConnect(errorMessage(error)));
  });
  const { observe: log, flush } = openLog(config, callWords(args));
  const observe = (event: Observation) => /-failed$|^unexpected/.test(event.kind) && log(event);
  try {
    return await run({ source, observe, now: Date.now, transport, readInclude });
  } finally {
    await close();
    await flush();
  }
}

/** Reads a file of cases. Throws an `Error` with the place of a fault. */
export function readCases(path: string) {
  return read(path, (text) => ({ path, text, file: parseCaseFile(text) }));
}

function readInclude(path: string, { name }: FixtureScript): FixtureScript {
  const included = shortPath(resolve(dirname(name), path));
  return read(included, (text) => ({ name: included, text: text.replace(/^\uFEFF/, "") }));
}

/** The text has its byte order mark, so that it can be written again. */
function read<Result>(path: string, parse: (text: string) => Result): Result {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return parse(decoder.decode(readBytes(path).content));
  } catch (error) {
    throw new Error(`cannot run ${path}: ${errorMessage(error)}`, { cause: error });
  }
}
