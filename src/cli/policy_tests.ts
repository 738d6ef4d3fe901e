/** `svc test`: runs policy tests, whose requests and fixtures roll back. @module */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
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
import { type RunSetup, withCaseService } from "../policy_test/case_handler.ts";
import { generateCases } from "../policy_test/generate.ts";
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
  return await withCaseService(setup, noFixtures, async ({ service, database }) => {
    const { config } = service.snapshot;
    const { cells } = await readAccess(database, { config });
    return uncoveredText(cells, results, config.dbSchemas[0]!);
  });
}

const noFixtures = { name: "generated.cases", text: "" };

async function generate(setup: RunSetup): Promise<number> {
  const text = await withCaseService(setup, noFixtures, ({ service, database }) => {
    const { cache, config } = service.snapshot;
    return generateCases(database, { cache: cache!, config });
  });
  print(withAnswers(text, await runFile(noFixtures.name, parseCaseFile(text), setup)));
  return 0;
}

/** Returns the files below `tests/` in the folder of the configuration file, else in the working directory. */
function findCases(configFile: string | null): readonly string[] {
  const folder = relativeTo(configFile, "tests");
  const options = { recursive: true, encoding: "utf8" } as const;
  const names = existsSync(folder) ? readdirSync(folder, options) : [];
  const files = names.filter((name) => name.endsWith(".cases")).toSorted();
  if (files.length === 0) throw new Error(`${folder}: no *.cases files`);
  return files.map((name) => join(folder, name));
}
