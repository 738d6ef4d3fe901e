/** `svc isolate`: tries to infer rows that callers cannot see. Nothing is committed. @module */
import { svcDialect } from "../../../base/dialect.ts";
import { printable } from "../../../base/lib/printable.ts";
import { print, printError } from "../../../base/observe/output.ts";
import {
  type Command,
  type CommandCall,
  type CommandContext,
  flagsOf,
} from "../../../api/command.ts";
import { isolateFile } from "../isolation/isolate.ts";
import { readInclude } from "../policy_test/read_cases.ts";
import { readFiles } from "./policy_tests.ts";

export const isolateCommand: Command = {
  name: "isolate",
  doc: "Try to learn of rows that policies hide from the callers of policy tests",
  example: "isolate tests/orders.cases svc.conf",
  page: "docs/how-to/check-that-policies-hold.md",
  flags: flagsOf({
    "--seconds=N": "Name what was not reached after N seconds. Default: 60",
  }),
  operands: { pattern: /\.cases$/, placeholder: "FILE.cases", doc: "Default: all below tests/" },
  failureCode: 2,
  run: isolate,
};

/** Resolves with 1 if there is a leak that is not accepted, or an accepted leak that no longer exists. */
async function isolate(
  { config, flags, operands }: CommandCall,
  { withTransport }: CommandContext,
): Promise<number> {
  const files = readFiles(operands, config);
  const seconds = Number(flags.get("--seconds") ?? 60);
  if (!(seconds > 0)) throw new Error("--seconds: expected a number of seconds");
  const report = (line: string) =>
    printError(`${svcDialect.productToken} isolate: ${printable(line)}`);
  return await withTransport(config, async (connection) => {
    const { now } = connection;
    const callers = files.reduce((sum, { file }) => sum + file.callers.size, 0);
    const limit = { msPerCaller: 1000 * seconds / callers, now, report };
    // Failures of generated requests are expected, so they are not logged.
    const setup = { ...connection, readInclude, observe: () => {} };
    let count = 0;
    let requests = 0;
    for (const each of files) {
      const result = await isolateFile({ ...each, setup }, limit);
      requests += result.requests;
      result.notes.forEach((note) => report(`${each.name}: ${note}`));
      count += result.findings.length;
      for (const { line, text } of result.findings) {
        const place = line === null ? `LEAK ${each.name}` : `FAIL ${each.name}:${line}`;
        print(`${printable(`${place} ${text}`)}\n`);
      }
    }
    report(`${count === 0 ? "no" : count} leaks by ${requests} requests`);
    // A run without comparisons fails, because it must not look like a success.
    if (count + requests === 0) throw new Error("no request was compared");
    return count === 0 ? 0 : 1;
  });
}
