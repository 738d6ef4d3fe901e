/** The cases of `tests/isolation`, each as a file of policy tests. @module */
import { type CaseFile, parseCaseFile } from "../../../src/wings/audit/policy_test/case_file.ts";

/** A case with a hole, or without one. */
export interface IsolationCase {
  readonly title: string;
  readonly file: CaseFile;
  /** Keys of the leaks that it must have, such as `anna GET /docs of api.doc by api.docs`. */
  readonly leaks: readonly string[];
}

const folder = new URL("../../isolation/", import.meta.url);

/** Reads the cases of a file. A comment that begins with `anna` is a leak, or a request after the SQL. */
export async function isolationCases(name: string): Promise<readonly IsolationCase[]> {
  const read = (path: string) => Deno.readTextFile(new URL(path, folder));
  const [prelude, text] = await Promise.all([read("prelude.sql"), read(name)]);
  return text.split(/^-- # /m).slice(1).map((section) => {
    const [title = "", ...lines] = section.trimEnd().split("\n");
    const comments = lines.filter((line) => /^-- (?:anna|anonymous) /.test(line)).map((line) =>
      line.slice(3)
    );
    const requests = comments.filter((line) => !line.includes(" of "));
    const callers = `===\nanna web_user {"sub": "1"}\n===\n`;
    const file = parseCaseFile([prelude, ...lines, callers + requests.join("\n"), ""].join("\n"));
    return { title, file, leaks: comments.filter((line) => line.includes(" of ")) };
  });
}

/** Returns the table of the holes for `docs/reference/isolation.md`. */
export async function holesTable(): Promise<string> {
  // The last request of a caller is the least direct one, such as an embed.
  const rows = (await isolationCases("holes.sql")).map(({ title, leaks }) => {
    const leak = leaks.findLast((each) => each.startsWith("anna"))!;
    const [, request, object] = /^anna (\S+ \S+) of \S+ by (\S+)$/.exec(leak)!;
    return [title, `\`${request}\``, `\`${object}\``];
  });
  const table = [["hole", "found by", "object"], ...rows];
  const widths = [0, 1, 2].map((at) => Math.max(...table.map((row) => row[at]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`;
  const [head, ...body] = table.map(line);
  return [head, line(widths.map((width) => "-".repeat(width))), ...body].join("\n");
}
