/**
 * How many columns nodes may have.
 *
 * @module
 */
import { DatabaseError } from "../errors/service_error.ts";
import type { ResolvedNode } from "./resolved_tree.ts";

/** Entries that a select list of PostgreSQL may have: its `MaxTupleAttributeNumber`. */
const maxColumns = 1664;

/**
 * Refuses a node that has more columns than PostgreSQL takes, with the error that PostgreSQL would
 * give: columns that are spread stand in every node above, so that the statement is not to be
 * written to find out.
 */
export function checkColumnCount(root: ResolvedNode): void {
  ownColumns(root);
}

/** At least how many columns a node has, with those that are spread into it. */
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
