/** `merge_action()` in `select`: whether an upsert inserted or updated the row. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import type { ApiRequest } from "../../request/api_request.ts";
import type { SelectItem, SelectRelation } from "../../request/url/query_types.ts";
import { isMergeAction } from "../../request/url/select_grammar.ts";
import type { Relation, SchemaCache } from "../../../state/schema_cache/schema_cache.ts";
import { matchingRelationships } from "../find_relationship.ts";
import { plainField } from "../read/select_list.ts";

/** Column of written rows: `INSERT`, `UPDATE`, or `EXISTING` for `resolution=return-existing`. Names
 * in PostgreSQL cannot contain NUL, so no column of a table has this name. */
export const mergeActionColumn = "\0merge_action";

/** The select list of a write, with {@linkcode mergeActionColumn} for `merge_action()`. */
export interface WriteSelect {
  readonly select: readonly SelectItem[];
  /** The source of `merge_action()`; null if it is not selected. */
  readonly mergeAction: Relation["mergeAction"] | null;
}

/** Adds the source of `merge_action()`. Throws `157` if inserted and updated rows cannot be distinguished. */
export function withMergeAction(
  select: readonly SelectItem[],
  { action, preferences, schema }: ApiRequest,
  relation: Relation,
  cache: SchemaCache,
): WriteSelect {
  if (!select.some(isMergeActionItem)) return { select, mergeAction: null };
  const embed = { origin: relation, originIsRelation: true, target: name, hint: null, schema };
  if (matchingRelationships(embed, cache).length > 0) return { select, mergeAction: null };
  if (action.kind !== "insert" && action.kind !== "put") {
    throw errors.invalidConflict(`'${name}()' has a meaning in POST and PUT only`);
  }
  if (preferences.return !== "representation") {
    throw errors.invalidConflict(`'${name}()' needs return=representation`);
  }
  // The statement that finds existing rows distinguishes them from inserted rows.
  const mergeAction = preferences.resolution === "return-existing" ? "old" : relation.mergeAction;
  if (mergeAction === undefined) {
    throw errors.invalidConflict(
      `PostgreSQL before version 18 cannot tell inserted from updated rows of '${relation.name}'`,
    );
  }
  return {
    select: select.map((item) => isMergeActionItem(item) ? columnItem(item) : item),
    mergeAction,
  };
}

const name = "merge_action";

function isMergeActionItem(item: SelectItem): item is SelectRelation {
  return item.kind === "relation" && isMergeAction(item);
}

function columnItem({ alias, cast }: SelectRelation): SelectItem {
  return { ...plainField(mergeActionColumn), alias: alias ?? name, cast: cast ?? null };
}
