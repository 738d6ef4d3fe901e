/** `svc test`: runs policy tests. Their requests and fixtures are rolled back. @module */
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { svcDialect } from "../../../base/dialect.ts";
import { type CaseResult, withAnswers } from "../policy_test/case_file.ts";
import { mutationText } from "../mutation/mutate.ts";
import { runFile } from "../policy_test/case_handler.ts";
import { generateTests } from "../policy_test/generate.ts";
import { failureText, gapsText, junitText, summaryText } from "../policy_test/report.ts";
import {
  type Command,
  type CommandCall,
  type CommandContext,
  flagsOf,
} from "../../../api/command.ts";
import { print, printError } from "../../../base/observe/output.ts";
import { callWords } from "../../../state/config/call_words.ts";
import type { ConfigArguments } from "../../../state/config/config_files.ts";
import { shellWord } from "../../../base/lib/shell_word.ts";
import { readCases, readInclude } from "../policy_test/read_cases.ts";
import { relativeTo, shortPath } from "../../../base/lib/files.ts";

export const testCommand: Command = {
  name: "test",
  doc: "Run policy tests: requests with the answers that they must have; nothing is committed",
  example: "test tests/orders.cases svc.conf",
  page: "docs/how-to/test-policies.md",
  flags: flagsOf({
    "--junit=FILE": "Write the results as JUnit",
    "--generate": "Print a file with tests of policies by claims",
    "--write": "Append the answers to cases without =>",
    "--mutate": "List changes of policies, grants and views that no case notices",
  }),
  operands: { pattern: /\.cases$/, placeholder: "FILE.cases", doc: "Default: all below tests/" },
  failureCode: 2,
  run: test,
};

/** Resolves with 1 if a case failed. */
async function test(
  { config, flags, operands }: CommandCall,
  { withTransport }: CommandContext,
): Promise<number> {
  const isGenerated = flags.has("--generate");
  const files = isGenerated ? [] : readFiles(operands, config);
  return await withTransport(config, async (connection) => {
    const covered = new Set<string>();
    const onOperation = (name: string, role: string) => void covered.add(`${name} ${role}`);
    const setup = { ...connection, readInclude, onOperation };
    if (isGenerated) {
      print(await generateTests(setup));
      return 0;
    }
    const start = performance.now();
    const results: CaseResult[] = [];
    for (const each of files) results.push(...await runFile({ ...each, setup }));
    const ms = Math.round(performance.now() - start);
    for (const { name, text } of flags.has("--write") ? files : []) {
      writeFileSync(name, withAnswers(text, results.filter(({ file }) => file === name)));
    }
    const junit = flags.get("--junit");
    if (junit !== undefined) writeFileSync(junit, junitText(results));
    const failures = failureText(results, callWords(config));
    print(failures);
    const gaps = operands.length === 0 ? await gapsText(results, setup, covered) : "";
    printError(`${svcDialect.productToken} test: ${summaryText(results, ms)}${gaps}`);
    if (failures !== "" || !flags.has("--mutate")) return failures === "" ? 0 : 1;
    const { text, summary } = await mutationText(files.map((each) => ({ ...each, setup })));
    print(text);
    printError(`${svcDialect.productToken} test --mutate: ${summary}`);
    return text === "" ? 0 : 1;
  });
}

/** Reads the files that the operands name; without operands, all files. */
export function readFiles(operands: readonly string[], config: ConfigArguments) {
  return Array.from(new Set(operands.length > 0 ? operands : findCases(config)), readCases);
}

/** Returns the files below `tests/` in the folder of the configuration file, else in the working directory. */
function findCases(config: ConfigArguments): readonly string[] {
  const root = shortPath(relativeTo(config.file, "tests"));
  const names = existsSync(root) ? readdirSync(root, { recursive: true, encoding: "utf8" }) : [];
  const files = names.filter((name) => name.endsWith(".cases")).toSorted();
  if (files.length === 0) {
    const { program, source } = callWords(config);
    const words = [program, "test", "--generate", source].filter((word) => word !== "").join(" ");
    const path = shellWord(join(root, "policies.cases"));
    const call = `mkdir -p ${shellWord(root)} && ${words} > ${path}`;
    throw new Error(`${root}: no *.cases files; this writes one: ${call}`);
  }
  return files.map((name) => join(root, name));
}
