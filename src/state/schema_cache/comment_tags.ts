/**
 * Reads the tags in comments of relations, functions and schemas. Each tag is on a separate line.
 *
 * ```text
 * @primary
 * @deprecated 2027-01-01 use v2
 * @label (name)
 * @maxRows 50
 * @primaryKey (id)
 * @foreignKey (city_id) references cities (id)
 * ```
 *
 * @module
 */
import type { RoutineRow, RowFunctionRow } from "./queries/routines.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { Relation } from "./schema_cache.ts";

export interface CommentTagConfig {
  /** Default: false. */
  readonly dbCommentTags?: boolean;
}

/** A comment, and the tags that it contained. */
export interface TaggedComment {
  /** The comment without its tag lines; null if nothing is left. */
  readonly text: string | null;
  /** Declarations of keys without the `@`, in the grammar of `declared_keys.ts`. */
  readonly keys: readonly string[];
  /** Whether requests that use the object must run on the primary: `@primary`. */
  readonly isPrimary: boolean;
  readonly values: TagValues;
}

/** Values of tags, as relations and functions have them. */
export type TagValues = Pick<Relation, "deprecation" | "label" | "maxRows">;

/** Returns a comment without its tags, and the tags. If tags are disabled, it is unchanged. */
export function readCommentTags(
  comment: string | null,
  { dbCommentTags = false }: CommentTagConfig,
): TaggedComment {
  if (!dbCommentTags || comment === null || !comment.includes("@")) return untagged(comment);
  const lines = comment.split(/\r?\n/);
  const deprecation = lines.map(readDeprecation).find((each) => each !== null);
  const others = lines.filter((line) =>
    !tagLines.some((tag) => tag.test(line)) && readDeprecation(line) === null
  );
  if (others.length === lines.length) return untagged(comment);
  const valueOf = (tag: RegExp) => lines.map((line) => tag.exec(line)?.[1]).find((text) => text);
  const [label, limit] = [valueOf(labelLine), valueOf(maxRowsLine)];
  const texts = deprecation === undefined ? others : [...others, "", deprecation.text];
  const text = texts.join("\n").trim();
  return {
    text: text === "" ? null : text,
    // The part after `|` is removed, in which PostGraphile permits names of fields.
    keys: lines.filter((line) => keyLine.test(line))
      .map((line) => line.replace(keyLine, "").replace(/\|.*$/, "")),
    isPrimary: lines.some((line) => primaryLine.test(line)),
    values: {
      ...(label === undefined ? {} : { label: label.replace(/^"(.*)"$/, "$1") }),
      ...(limit === undefined ? {} : { maxRows: Number(limit) }),
      ...(deprecation === undefined ? {} : { deprecation: deprecation.headers }),
    },
  };
}

function untagged(text: string | null): TaggedComment {
  return { text, keys: [], isPrimary: false, values: {} };
}

const keyLine = /^\s*@(?=(?:primaryKey|unique|foreignKey)(?![\p{L}\p{N}_]))/u;
const primaryLine = /^\s*@primary\s*$/;
const labelLine = /^\s*@label\s*\(\s*(.+?)\s*\)\s*$/;
const maxRowsLine = /^\s*@maxRows\s+([1-9][0-9]{0,8})\s*$/;
const tagLines = [keyLine, primaryLine, labelLine, maxRowsLine];

const deprecatedLine =
  /^\s*@deprecated\s+(\d{4}-\d\d-\d\d)(?:\s+(\d{4}-\d\d-\d\d))?(?:\s+(\S.*?))?\s*$/;

/**
 * Reads `@deprecated <date> [<end>] [<advice>]`: the headers `Deprecation` (RFC 9745) and `Sunset`
 * (RFC 8594), and the text for readers. Without an end, `Sunset` has the date itself. Returns null
 * for other lines.
 */
function readDeprecation(line: string): { headers: HeaderList; text: string } | null {
  const [, date, end = date, advice] = deprecatedLine.exec(line) ?? [];
  if (date === undefined || Number.isNaN(Date.parse(date) + Date.parse(end!))) return null;
  return {
    headers: [
      ["Deprecation", `@${Date.parse(date) / 1000}`],
      ["Sunset", new Date(end!).toUTCString()],
    ],
    text: `Deprecated from ${date}${advice === undefined ? "" : `: ${advice}`}`,
  };
}

/** Functions whose comments no longer contain their tags, and the values of these tags. */
interface TaggedRoutines {
  readonly rows: readonly RoutineRow[];
  readonly primary: readonly string[];
  readonly tags: ReadonlyMap<RoutineRow, TagValues>;
}

export function readRoutineTags(
  rows: readonly RoutineRow[],
  config: CommentTagConfig,
): TaggedRoutines {
  const primary: string[] = [];
  const tags = new Map<RoutineRow, TagValues>();
  const untaggedRows = rows.map((row): RoutineRow => {
    const [schema, name, comment, ...rest] = row;
    const { text, isPrimary, values } = readCommentTags(comment, config);
    if (text === comment) return row;
    const untaggedRow: RoutineRow = [schema, name, text, ...rest];
    if (isPrimary) primary.push(name);
    tags.set(untaggedRow, values);
    return untaggedRow;
  });
  return { rows: untaggedRows, primary, tags };
}

/** Returns the names of row functions with the tag `@primary`. */
export function primaryRowFunctions(
  rows: readonly RowFunctionRow[],
  config: CommentTagConfig,
): readonly string[] {
  return rows.filter(([, , , comment]) => readCommentTags(comment, config).isPrimary)
    .map(([name]) => name);
}
