/** The parameter `columns`, and the parameters that address its nested items. @module */
import { ServiceError } from "../../errors/service_error.ts";
import { levelKey, levelOf } from "./name_grammar.ts";
import type { ValuedParam } from "./query_string.ts";
import type { AtLevel, ColumnItem, ColumnTree, LevelConflict, NestedItem } from "./query_types.ts";
import { readText } from "./read_text.ts";
import { type Production, Scanner } from "./scanner.ts";
import { name, seesName } from "./name_grammar.ts";

/** The columns that a write names. */
export interface WrittenNames {
  /** Sorted, without duplicates; null when absent. */
  readonly columns: readonly string[] | null;
  readonly columnTree: ColumnTree | null;
}

/** Reads a list of names. Raises `100`. */
export function readNames(
  what: string,
  raw: string | null | undefined,
): readonly string[] | null {
  return typeof raw === "string" ? readText({ what, raw }, columns) : null;
}

/** Reads `columns`, which is a tree in inserts only. Raises `100` for text that is neither list nor tree. */
export function readColumns(raw: string | null | undefined, mayNest: boolean): WrittenNames {
  if (typeof raw !== "string") return { columns: null, columnTree: null };
  if (!mayNest || !/[(:*!]/.test(raw)) {
    return { columns: sorted(readNames(what, raw)!), columnTree: null };
  }
  const list = new Scanner(raw).attempt(columns);
  const items = readTree(raw);
  if (list === undefined && items instanceof ServiceError) throw items;
  return { columns: sorted(list ?? []), columnTree: { items, listEnd: list?.at(-1) ?? null } };
}

const what = "columns parameter";

/** Returns the error for text that is not a tree: a list of names may end where the tree does not. */
function readTree(raw: string): readonly ColumnItem[] | ServiceError {
  try {
    return readText({ what, raw }, columnTree);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

/** Whether `*` stands among items, at any depth: the keys of the body are columns then. */
export function takesKeys(items: readonly ColumnItem[]): boolean {
  return items.some((item) =>
    item.kind === "all" || item.kind === "nested" && takesKeys(item.items)
  );
}

/** Returns the items of a tree; none if there is no tree. */
export function itemsOf(tree: ColumnTree | null): readonly ColumnItem[] {
  return tree === null || tree.items instanceof ServiceError ? [] : tree.items;
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}

/** Last segments of the parameters that address a nested item. */
export const levelSegments: ReadonlySet<string> = new Set(["on_conflict", "resolution"]);

/** Reads `<path>.on_conflict` and `<path>.resolution`; the first of each counts. Raises `100`. */
export function readLevelConflicts(
  params: readonly ValuedParam[],
): readonly AtLevel<LevelConflict>[] {
  const levels = new Map<string, AtLevel<LevelConflict>>();
  for (const { name, value } of params) {
    const path = levelOf(name);
    const key = levelKey(path);
    const { value: { onConflict, resolution } } = levels.get(key) ??
      { value: { onConflict: null, resolution: null } };
    const isTarget = name.endsWith(".on_conflict");
    levels.set(key, {
      path,
      value: {
        onConflict: isTarget ? onConflict ?? readNames(name, value) : onConflict,
        resolution: isTarget ? resolution : resolution ?? readResolution(name, value),
      },
    });
  }
  return [...levels.values()];
}

const resolutions = ["merge-duplicates", "ignore-duplicates", "return-existing"] as const;
const resolutionLabels = resolutions.map((word) => `"${word}"`);

function readResolution(name: string, raw: string) {
  const word: Production<LevelConflict["resolution"]> = (scanner) => {
    const read = scanner.takeWord(resolutions, resolutionLabels);
    if (read === undefined || scanner.atEnd) return read;
    scanner.expectEnd([]);
    return undefined;
  };
  return readText({ what: name, raw }, word);
}

const itemStart = ["field name (* or [a..z0..9_$])", '"*"'] as const;
const nestedStart = ['"("'] as const;
const nextOrClosing = ['","', '")"'] as const;
const comma = ['","'] as const;

/** `columns = name *( "," name )`; text after the last name is ignored. */
function columns(scanner: Scanner): readonly string[] | undefined {
  const read: string[] = [];
  do {
    const column = name(scanner);
    if (column === undefined) return undefined;
    scanner.countPart("names of 'columns'");
    read.push(column);
    scanner.skipBlanks();
  } while (scanner.skip(","));
  return read;
}

/** `column-tree = column-item *( "," column-item )`, to the end of the text. */
function columnTree(scanner: Scanner): readonly ColumnItem[] | undefined {
  const read = columnItems(scanner);
  if (read === undefined || scanner.atEnd) return read;
  scanner.expectEnd(comma);
  return undefined;
}

function columnItems(scanner: Scanner): readonly ColumnItem[] | undefined {
  const read: ColumnItem[] = [];
  do {
    const item = columnItem(scanner);
    if (item === undefined) return undefined;
    scanner.countPart("names of 'columns'");
    read.push(item);
    scanner.skipBlanks();
  } while (scanner.skip(","));
  return read;
}

/** `column-item = "*" / name / [ name ":" ] name [ "!" name ] "(" [ column-tree ] ")"` */
function columnItem(scanner: Scanner): ColumnItem | undefined {
  scanner.skipBlanks();
  if (scanner.skip("*")) return { kind: "all" };
  if (!seesName(scanner)) {
    scanner.expect(itemStart);
    return undefined;
  }
  const first = name(scanner);
  if (first === undefined) return undefined;
  scanner.skipBlanks();
  if (scanner.skip(":")) {
    const target = name(scanner);
    return target === undefined ? undefined : nestedItem(scanner, target, first);
  }
  const isNested = scanner.sees("(") || scanner.sees("!");
  return isNested ? nestedItem(scanner, first, null) : { kind: "column", name: first };
}

function nestedItem(
  scanner: Scanner,
  target: string,
  alias: string | null,
): NestedItem | undefined {
  let hint: string | null = null;
  if (scanner.skip("!")) {
    const read = name(scanner);
    if (read === undefined) return undefined;
    hint = read;
  }
  if (!scanner.take("(", nestedStart)) return undefined;
  const items = scanner.nested("select", insideParentheses);
  return items === undefined ? undefined : { kind: "nested", target, alias, hint, items };
}

const noItems: readonly ColumnItem[] = [];

/** `[ column-tree ] ")"` */
function insideParentheses(scanner: Scanner): readonly ColumnItem[] | undefined {
  scanner.skipBlanks();
  if (scanner.skip(")")) return noItems;
  const items = columnItems(scanner);
  return items !== undefined && scanner.take(")", nextOrClosing) ? items : undefined;
}
