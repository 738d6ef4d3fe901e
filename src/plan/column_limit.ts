/**
 * The maximum number of columns of a node.
 *
 * @module
 */
import { DatabaseError } from "../errors/service_error.ts";
import type { ResolvedNode } from "./resolved_tree.ts";

/** Maximum entries of a select list: `MaxTupleAttributeNumber` of PostgreSQL. */
const maxColumns = 1664;

/**
 * Throws PostgreSQL's error 54011 if a node has more columns than PostgreSQL accepts.
 *
 * The check runs before the statement is rendered: every ancestor repeats the columns of a spread,
 * so the statement could become very long.
 */
export function checkColumnCount(root: ResolvedNode): void {
  ownColumns(root);
}

/** Returns the minimum number of columns of a node, with the columns that spreads add. */
function ownColumns({ fields, relation, children }: ResolvedNode): number {
  let columns = 0;
  for (const { kind } of fields) columns += kind === "all" ? relation?.columns.length ?? 1 : 1;
  for (const child of children) {
    const below = ownColumns(child);
    if (child.item.kind === "spread") columns += below;
  }
  if (columns > maxColumns) throw tooMany();
  return columns;
}

function tooMany(): DatabaseError {
  return new DatabaseError({
    sqlstate: "54011",
    message: `target lists can have at most ${maxColumns} entries`,
    detail: null,
    hint: null,
  });
}
