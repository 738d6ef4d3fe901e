/**
 * Reads the tags in comments of relations and functions. Each stands on a line of its own.
 *
 * ```text
 * @primary
 * @primaryKey (id)
 * @foreignKey (city_id) references cities (id)
 * ```
 *
 * @module
 */
import type { RowFunctionRow } from "./queries/row_functions.ts";
import type { RoutineRow } from "./queries/routines.ts";

/** Whether tags count. */
export interface CommentTagConfig {
  /** Default: false. */
  readonly dbCommentTags?: boolean;
}

/** A comment, and the tags that it contained. */
export interface TaggedComment {
  /** The comment without the lines of tags; null if nothing is left. */
  readonly text: string | null;
  /** Declarations of keys without the `@`, in the grammar of `config/declared_keys.ts`. */
  readonly keys: readonly string[];
  /** Whether requests that reach the object are executed by the primary: `@primary`. */
  readonly isPrimary: boolean;
}

/** Takes the tags out of a comment, if they count. */
export function readCommentTags(
  comment: string | null,
  { dbCommentTags = false }: CommentTagConfig,
): TaggedComment {
  if (!dbCommentTags || comment === null || !comment.includes("@")) return untagged(comment);
  const lines = comment.split(/\r?\n/);
  const others = lines.filter((line) => !keyLine.test(line) && !primaryLine.test(line));
  if (others.length === lines.length) return untagged(comment);
  const text = others.join("\n").trim();
  return {
    text: text === "" ? null : text,
    // PostGraphile lets names of fields follow after `|`.
    keys: lines.filter((line) => keyLine.test(line))
      .map((line) => line.replace(keyLine, "").replace(/\|.*$/, "")),
    isPrimary: lines.some((line) => primaryLine.test(line)),
  };
}

function untagged(text: string | null): TaggedComment {
  return { text, keys: [], isPrimary: false };
}

const keyLine = /^\s*@(?=(?:primaryKey|unique|foreignKey)(?![\p{L}\p{N}_]))/u;
const primaryLine = /^\s*@primary\s*$/;

/** Takes the tag `@primary` out of the comments of functions. Returns the names of those that had it. */
export function readRoutineTags(
  rows: readonly RoutineRow[],
  config: CommentTagConfig,
): { readonly rows: readonly RoutineRow[]; readonly primary: readonly string[] } {
  const primary: string[] = [];
  const untaggedRows = rows.map((row): RoutineRow => {
    const [schema, name, comment, ...rest] = row;
    const { text, isPrimary } = readCommentTags(comment, config);
    if (!isPrimary) return row;
    primary.push(name);
    return [schema, name, text, ...rest];
  });
  return { rows: untaggedRows, primary };
}

/** Returns the names of the functions of rows that have the tag `@primary`. */
export function primaryRowFunctions(
  rows: readonly RowFunctionRow[],
  config: CommentTagConfig,
): readonly string[] {
  return rows.filter(([, , , comment]) => readCommentTags(comment, config).isPrimary)
    .map(([name]) => name);
}
