import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { countTests, describeCounts } from "../../support/runner/test_counts.ts";

const file = (counts: string) => `<testsuite name="./a_test.ts" ${counts}>\n</testsuite>\n`;

const reports:
  readonly (readonly [name: string, report: string, exitCode: number, text: string])[] = [
    [
      "adds up files, and not the line above them",
      '<testsuites name="deno test" tests="15" failures="2" errors="0" time="0.005">\n' +
      file('tests="10" disabled="2" errors="0" failures="2"') +
      file('tests="5" disabled="0" errors="0" failures="0"'),
      1,
      "11 passed, 2 failed, 2 skipped",
    ],
    [
      "counts errors as failures",
      file('tests="3" disabled="0" errors="1" failures="1"'),
      1,
      "1 passed, 2 failed",
    ],
    [
      "leaves out skipped where there are none",
      file('tests="3" disabled="0" errors="0" failures="0"'),
      0,
      "3 passed, 0 failed",
    ],
    ["counts a run without a report as one failure", "", 1, "0 passed, 1 failed"],
    [
      "counts a run that fails without a failed test as one failure",
      file('tests="3" disabled="0" errors="0" failures="0"'),
      1,
      "3 passed, 1 failed",
    ],
  ];

for (const [name, report, exitCode, text] of reports) {
  Deno.test(`countTests ${name}`, () => {
    strictEqual(describeCounts(countTests(report, exitCode)), text);
  });
}

Deno.test("countTests reads what deno test writes", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const source = `
      Deno.test("a", async (t) => { await t.step("b", () => {}); });
      Deno.test("c", () => { throw new Error('<testsuite name="x" tests="9"'); });
      Deno.test({ name: "d", ignore: true, fn() {} });
    `;
    await Deno.writeTextFile(`${folder}/a_test.ts`, source);
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["test", "--no-config", `--junit-path=${folder}/report.xml`, `${folder}/a_test.ts`],
      stdout: "null",
      stderr: "null",
    }).output();
    const report = await Deno.readTextFile(`${folder}/report.xml`);
    deepStrictEqual(countTests(report, code), { passed: 2, failed: 1, skipped: 1 });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
