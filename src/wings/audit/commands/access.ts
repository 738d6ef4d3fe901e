/** `svc access`: prints what each request role may do. Changes nothing. @module */
import { type AccessCell, type AccessMatrix, readAccess } from "../access/cells.ts";
import { markOf, mayText } from "../access/cell_text.ts";
import { withCounts } from "../access/counts.ts";
import { callerFlags, callerOf } from "../../../api/caller_flags.ts";
import { type Command, flagsOf } from "../../../api/command.ts";
import { paddedRows, print } from "../../../base/observe/output.ts";
import { groupBy } from "../../../base/lib/group_by.ts";
import { printable, printableJson } from "../../../base/lib/printable.ts";

export const accessCommand: Command = {
  name: "access",
  doc: "Show what each role may do, and why not, as a table",
  example: "access svc.conf",
  page: "docs/how-to/see-what-roles-may-do.md",
  flags: [...callerFlags, ...flagsOf({ "--json": "Print the cells as JSON" })],
  failureCode: 2,
  run: ({ config: args, flags }, { withDatabase }) =>
    withDatabase(args, async (appState) => {
      const { database } = appState;
      const config = await appState.readConfig();
      const identity = callerOf(flags, config);
      const { roles, cells } = await readAccess(database, { config, role: identity?.role ?? null });
      if (roles.length === 0) throw new Error(noRoles);
      const counted = identity && await withCounts(cells, { database, config, identity });
      const text = counted === null ? matrixText(roles, cells) : cellsText(counted);
      print(flags.has("--json") ? printableJson(counted ?? cells) : text);
      return 0;
    }),
};

const noRoles = "no such role of requests: set db-anon-role, or grant a role to the user of db-uri";

/** Returns the cells of one role as Markdown, with a row for each action. */
function cellsText(cells: readonly AccessCell[]): string {
  const rows = cells.map((cell) => [cell.relation, cell.action, mayText(cell), visibleText(cell)]);
  return tableText([["relation", "action", cells[0]?.role ?? "", "visible"], ...rows]);
}

/** Returns the matrix of all roles as Markdown. */
function matrixText(roles: AccessMatrix["roles"], cells: readonly AccessCell[]): string {
  const names = roles.map(([, role]) => role);
  const rows = Array.from(groupBy(cells, ({ relation }) => relation), ([relation, group]) => [
    relation,
    ...names.map((role) =>
      group.filter((cell) => cell.role === role && cell.may !== "no").map(markOf).join(" ") || "-"
    ),
  ]);
  return `${tableText([["relation", ...names], ...rows])}\n${legend}\n`;
}

/** Explains the letters below the table, in Markdown. The lines fit in a terminal. */
const legend = `\
- s select, i insert, u update, d delete, x execute; - no privilege
- S (capital): all rows; s: the rows that policies allow; s0: no policy allows a row
- s*: some columns; s!: past the policies of a table that the view reads`;

function visibleText({ visible }: AccessCell): string {
  if (typeof visible !== "number") return visible ?? "";
  return `${visible > 10_000 ? "> 10,000" : visible.toLocaleString("en")} visible`;
}

/** Returns a Markdown table. Characters that would end a cell, or begin code, HTML or links, are escaped. */
function tableText(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) =>
    row.map((text) => printable(text).replace(/[\\|<`]|\](?=\()/g, "\\$&"))
  );
  const [head = [], ...body] = paddedRows(cells, 3);
  const ruler = head.map((cell) => cell.replace(/./gsu, "-"));
  return [head, ruler, ...body].map((row) => `| ${row.join(" | ")} |\n`).join("");
}
