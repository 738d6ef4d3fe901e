/** Runs all faults at full length: one line per fault on stdout, progress on stderr. Exits with 1
 * if a fault reports a problem, or if no fault has that name. Arguments choose faults by parts of
 * their names, `--short` shortens them, and `--docs` writes the reports into
 * docs/reference/faults.md if all is well. @module */
import { faults } from "./faults.ts";
import { writeReports } from "./docs_section.ts";
import { describeReport, type FaultReport } from "./report.ts";

/** Runs the faults and returns the exit code. */
async function run(args: readonly string[]): Promise<number> {
  const scale = args.includes("--short") ? "short" : "full";
  const wanted = args.filter((arg) => !arg.startsWith("--"));
  const chosen = Object.entries(faults)
    .filter(([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
  const reports: FaultReport[] = [];
  for (const [at, [name, fault]] of chosen.entries()) {
    console.error(`${at + 1}/${chosen.length} ${name}...`);
    const began = performance.now();
    const report = await fault(scale).catch((error) => failed(name, error));
    console.error(`  ${Math.round((performance.now() - began) / 1000)} s`);
    console.log(describeReport(report));
    reports.push(report);
  }
  const clean = reports.length > 0 && reports.every(({ problems }) => problems.length === 0);
  if (clean && args.includes("--docs")) {
    await writeReports(reports, { areAll: wanted.length === 0 });
  }
  return clean ? 0 : 1;
}

/** A fault that could not be run to its end, because the service was gone for example. */
function failed(fault: string, error: unknown): FaultReport {
  const problem = error instanceof Error ? error.stack ?? error.message : String(error);
  const requests = { sent: 0, answered: 0, byStatus: {} };
  return { fault, requests, writes: null, figures: {}, problems: [problem] };
}

Deno.exit(await run(Deno.args));
