/** `svc test`: runs policy tests, whose requests and fixtures roll back. @module */
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readAccess } from "../access/cells.ts";
import { svcDialect } from "../dialect.ts";
import {
  failuresOf,
  failureText,
  junitText,
  summaryText,
  uncoveredText,
  withAnswers,
} from "../policy_test/report.ts";
import { parseCaseFile } from "../policy_test/case_file.ts";
import { withCaseService } from "../policy_test/case_handler.ts";
import { withFixtures } from "../policy_test/fixtures.ts";
import { generateCases } from "../policy_test/generate.ts";
import { type FileResult, runFile, type RunSetup } from "../policy_test/run_file.ts";
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
    { name: "--generate", value: "none", doc: "Print a file with tests of policies by claims" },
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
  if (flags.has("--generate")) return await withTransport(config, generate);
  const files = (operands.length === 0 ? findCases(config.file) : operands).map(readCases);
  return await withTransport(config, async (setup) => {
    const start = performance.now();
    const results: FileResult[] = [];
    for (const { name, file } of files) results.push(await runFile(name, file, setup));
    const ms = Math.round(performance.now() - start);
    for (const [index, { path, text }] of flags.has("--write") ? files.entries() : []) {
      writeFileSync(path, withAnswers(text, results[index]!));
    }
    const junit = flags.get("--junit");
    if (junit !== undefined) writeFileSync(junit, junitText(results));
    print(failureText(results, `${callWords(config).program} why`));
    const uncovered = operands.length === 0 ? await uncoveredBy(results, setup) : "";
    printError(`${svcDialect.productToken} test: ${summaryText(results, ms)}${uncovered}`);
    return results.flatMap(failuresOf).length === 0 ? 0 : caseFailed;
  });
}

/** Returns the text about cells of the matrix that no case is for. */
async function uncoveredBy(results: readonly FileResult[], setup: RunSetup): Promise<string> {
  const options = { ...setup, script: { name: "", text: "" } };
  return await withFixtures(
    setup.transport,
    options,
    (database) =>
      withCaseService(database, setup, async ({ snapshot: { config } }) => {
        const { cells } = await readAccess(database, { config });
        return uncoveredText(cells, results, config.dbSchemas[0]!);
      }),
  );
}

async function generate(setup: RunSetup): Promise<number> {
  const name = "generated.cases";
  const options = { ...setup, script: { name, text: "" } };
  const text = await withFixtures(
    setup.transport,
    options,
    (database) =>
      withCaseService(
        database,
        setup,
        ({ snapshot: { cache, config } }) => generateCases(database, { cache: cache!, config }),
      ),
  );
  print(withAnswers(text, await runFile(name, parseCaseFile(text), setup)));
  return 0;
}

/** Returns the files below `tests/` in the folder of the configuration file, else in the working directory. */
function findCases(configFile: string | null): readonly string[] {
  const folder = relativeTo(configFile, "tests");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".cases")).toSorted();
  if (files.length === 0) throw new Error(`${folder}: no *.cases files`);
  return files.map((name) => join(folder, name));
}
