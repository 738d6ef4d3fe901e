/** Counts the tests of a run from the JUnit report that `deno test` writes. @module */

/** Tests and steps of tests, by how they ended. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** `<testsuite name="./x_test.ts" tests="10" disabled="2" errors="0" failures="2">` */
const suiteLine =
  /<testsuite [^>]*\btests="(\d+)" disabled="(\d+)" errors="(\d+)" failures="(\d+)"/g;

/**
 * Adds up the files of a report. A run that failed without a failed test, because a file did not
 * compile for example, is one failure.
 */
export function countTests(report: string, exitCode: number): TestCounts {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const match of report.matchAll(suiteLine)) {
    const [tests, disabled, errors, failures] = match.slice(1).map(Number) as [
      number,
      number,
      number,
      number,
    ];
    counts.passed += tests - disabled - errors - failures;
    counts.failed += errors + failures;
    counts.skipped += disabled;
  }
  if (exitCode !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}

/** `3 passed, 0 failed`, and `, 1 skipped` where some were. */
export function describeCounts({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed` + (skipped > 0 ? `, ${skipped} skipped` : "");
}
