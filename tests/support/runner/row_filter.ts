/** Chooses the rows of table suites that a run tests: `deno task test --row <text>`. @module */

/** Text that the names of chosen rows contain; all rows are chosen where it is not set. */
export const rowVariable = "SVC_TEST_ROW";

/** The arguments of a run. */
export interface TestArguments {
  /** Text of `--row`; null without it. */
  readonly row: string | null;
  /** Arguments of `deno test`. */
  readonly others: readonly string[];
}

/** Matches the names of table suites, which begin with their engine: `[pg] todos`. */
const suiteFilter = "/^\\[\\w+\\] /";

/**
 * Takes `--row <text>` or `--row=<text>` from arguments, and adds a filter that leaves out all tests
 * but suites. Throws an `Error` when there is no text.
 */
export function readTestArguments(args: readonly string[]): TestArguments {
  const at = args.findIndex((arg) => arg === "--row" || arg.startsWith("--row="));
  if (at < 0) return { row: null, others: args };
  const isSplit = args[at] === "--row";
  const row = isSplit ? args[at + 1] : args[at]!.slice("--row=".length);
  if (row === undefined || row === "") throw new Error("--row: expected a part of a row's name");
  const others = args.toSpliced(at, isSplit ? 2 : 1);
  return { row, others: others.some(isFilter) ? others : [`--filter=${suiteFilter}`, ...others] };
}

function isFilter(argument: string): boolean {
  return argument === "--filter" || argument.startsWith("--filter=");
}

/** Whether a row is tested. */
export function isChosen(name: string, row = Deno.env.get(rowVariable) ?? ""): boolean {
  return name.includes(row);
}

/** Whether a JUnit report of `deno test` has a step: `<testcase name="[pg] todos &gt; reads: GET /todos"`. */
export function hasStep(report: string): boolean {
  return /<testcase name="[^"]* &gt; /.test(report);
}
