/** `svc access`: prints what each role of requests may do. It writes nothing. @module */
import { type AccessCell, type AccessMatrix, readAccess } from "../access/cells.ts";
import { withCounts } from "../access/counts.ts";
import type { Identity } from "../auth/jwt_cache.ts";
import { callerFlags, callerOf } from "./caller_flags.ts";
import type { Command } from "./command.ts";
import { print } from "./output.ts";
import { printable } from "../lib/printable.ts";
import { withDatabase } from "./with_service.ts";

/** The command. */
export const accessCommand: Command = {
  name: "access",
  doc: "Show what each role may do, and why not, as a table",
  flags: [...callerFlags, { name: "--json", value: "none", doc: "Print the cells as JSON" }],
  failureCode: 2,
  run: ({ config: args, flags }) =>
    withDatabase(args, async (service, quick) => {
      const { database } = service;
      const config = await service.readConfig();
      const identity = callerOf(flags, config);
      const { hidesExtensionFunctions = false } = quick?.choice ?? {};
      const role = identity?.role ?? null;
      const matrix = await readAccess(database, { config, role, hidesExtensionFunctions });
      checkRoles(matrix, identity);
      const cells = identity === null
        ? matrix.cells
        : await withCounts(matrix.cells, { database, config, identity });
      print(accessText({ ...matrix, cells }, { identity, isJson: flags.has("--json") }));
      return 0;
    }),
};

function checkRoles({ roles }: AccessMatrix, identity: Identity | null): void {
  const [first] = roles;
  const name = JSON.stringify(identity?.role);
  if (first === undefined) {
    throw new Error(
      identity === null
        ? "no roles of requests: set db-anon-role, or grant a role to the user of db-uri"
        : `role ${name} does not exist`,
    );
  }
  if (identity !== null && !first[2]) throw new Error(`the user of db-uri may not become ${name}`);
}

/** Returns the matrix as Markdown, that of one role with a row for each action, or as JSON. */
function accessText(
  { roles, cells }: AccessMatrix,
  { identity, isJson }: { readonly identity: Identity | null; readonly isJson: boolean },
): string {
  if (isJson) return `${JSON.stringify(cells, null, 2)}\n`;
  if (identity !== null) {
    const rows = cells.map((
      cell,
    ) => [cell.relation, cell.action, mayText(cell), visibleText(cell)]);
    return tableText([["relation", "action", roles[0]![1], "visible"], ...rows]);
  }
  const relations = Map.groupBy(cells, ({ relation }) => relation);
  const rows = Array.from(relations, ([relation, own]) => [
    relation,
    ...roles.map(([, role]) =>
      own.filter((cell) => cell.role === role && cell.may !== "no").map(mark).join(" ") || "-"
    ),
  ]);
  return `${tableText([["relation", ...roles.map(([, role]) => role)], ...rows])}\n${legend}\n`;
}

const legend =
  "select insert update delete execute: capital all rows, small rows by policies, with 0 " +
  "no policy allows one, with * some columns, with ! past policies of a table below";

function mark({ action, may, columns, past }: AccessCell): string {
  const letter = action === "execute" ? "x" : action[0]!;
  const rows = may === "all" ? letter.toUpperCase() : may === "none" ? `${letter}0` : letter;
  return rows + (columns === null ? "" : "*") + (past.length === 0 ? "" : "!");
}

function mayText({ action, may, columns, policies, past, reason, sql }: AccessCell): string {
  if (may === "no") return `no: ${sql?.replaceAll(";\n", "; ") ?? reason}`;
  if (action === "execute") return "execute";
  const names = (isPermissive: boolean) =>
    policies.filter(({ permissive }) => permissive === isPermissive).map(({ name }) => name);
  const [either, each] = [names(true), names(false)];
  const any = either.length > 1 && each.length > 0
    ? `(${either.join(" or ")})`
    : either.join(" or ");
  const rows = may === "rows" && any !== "" ? `rows by ${[any, ...each].join(" and ")}` : reason;
  return [
    ...(columns === null ? [] : [`columns ${columns.join(", ")}`]),
    ...(rows === null
      ? ["all rows"]
      : past.length > 0
      ? [`past policies of ${past.join(", ")}`]
      : [rows]),
  ].join("; ");
}

function visibleText({ visible }: AccessCell): string {
  if (typeof visible !== "number") return visible ?? "";
  return `${visible > 10_000 ? "> 10,000" : visible.toLocaleString("en")} visible`;
}

/** Returns a Markdown table. Characters that end a cell or begin markup are escaped. */
function tableText(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((text) => printable(text).replace(/[\\|<`]/g, "\\$&")));
  const widths = cells[0]!.map((_, at) =>
    cells.reduce((width, row) => Math.max(width, Array.from(row[at]!).length), 3)
  );
  const line = (row: readonly string[]) =>
    `| ${
      row.map((text, at) => text + " ".repeat(widths[at]! - Array.from(text).length)).join(" | ")
    } |\n`;
  const [head, ...body] = cells;
  return [head!, widths.map((width) => "-".repeat(width)), ...body].map(line).join("");
}
