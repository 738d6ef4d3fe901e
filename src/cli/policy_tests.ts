/** `svc test`: runs policy tests, whose requests and fixtures roll back. @module */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { svcDialect } from "../dialect.ts";
import {
  failuresOf,
  failureText,
  junitText,
  summaryText,
  withAnswers,
} from "../policy_test/report.ts";
import { type FileResult, runFile } from "../policy_test/run_file.ts";
import type { Command, CommandCall } from "./command.ts";
import { relativeTo } from "./config_files.ts";
import { print, printError } from "./output.ts";
import { callWords } from "./program_call.ts";
import { readCases, withTransport } from "./with_transport.ts";

/** Exit codes besides 0, and besides 3 without a connection. */
const caseFailed = 1;
const cannotTest = 2;

/** The command. */
export const testCommand: Command = {
  name: "test",
  doc: "Run policy tests: requests with the answers that they must have; nothing is committed",
  flags: [
    { name: "--junit", value: "required", placeholder: "FILE", doc: "Write the results as JUnit" },
    { name: "--write", value: "none", doc: "Append the answers to cases without =>" },
  ],
  operands: {
    pattern: /\.cases$/,
    placeholder: "FILE.cases",
    doc: "Tests to run; default: all below tests/",
  },
  failureCode: cannotTest,
  run: test,
};

async function test({ config, flags, operands }: CommandCall): Promise<number> {
  const files = (operands.length === 0 ? findCases(config.file) : operands).map(readCases);
  return await withTransport(config, async (setup) => {
    const start = performance.now();
    const results: FileResult[] = [];
    for (const { name, file } of files) results.push(await runFile(name, file, setup));
    const ms = Math.round(performance.now() - start);
    for (const [index, { path, text }] of flags.has("--write") ? files.entries() : []) {
      writeFileSync(path, withAnswers(text, results[index]!.results));
    }
    const junit = flags.get("--junit");
    if (junit !== undefined) writeFileSync(junit, junitText(results));
    print(failureText(results, `${callWords(config).program} why`));
    printError(`${svcDialect.productToken} test: ${summaryText(results, ms)}`);
    return failuresOf(results).length === 0 ? 0 : caseFailed;
  });
}

/** Returns the files below `tests/` in the folder of the configuration file, else in the working directory. */
function findCases(configFile: string | null): readonly string[] {
  const folder = relativeTo(configFile, "tests");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".cases")).toSorted();
  if (files.length === 0) throw new Error(`${folder}: no *.cases files`);
  return files.map((name) => join(folder, name));
}
