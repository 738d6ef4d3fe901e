/** The parameter `columns`, and the parameters that address its nested items. @module */
import { ServiceError } from "../../../base/errors/service_error.ts";
import { levelKey, levelOf, name, seesName } from "./name_grammar.ts";
import type { ValuedParam } from "./query_string.ts";
import type {
  AtLevel,
  ColumnItem,
  ColumnTree,
  LevelConflict,
  NestedItem,
  QueryParams,
} from "./query_types.ts";
import { readText } from "./read_text.ts";
import { Scanner } from "./scanner.ts";

export function readNames(what: string, raw: string | null | undefined): readonly string[] | null {
  return typeof raw === "string" ? readText({ what, raw, isWhole: true }, columns) : null;
}

/** Parses `columns`, which can be a tree only in inserts. Throws `100` if the text is neither a
 * list nor a tree. */
export function readColumns(
  raw: string | null | undefined,
  mayNest: boolean,
): Pick<QueryParams, "columns" | "columnTree"> {
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

/** Returns the items of a tree, or an error. Text after a tree is an error, while text after a
 * list of names is ignored. */
function readTree(raw: string): readonly ColumnItem[] | ServiceError {
  try {
    return readText({ what, raw }, columnTree);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

/** Returns whether `*` is an item at any depth, so that keys of the body are columns. */
export function takesKeys(items: readonly ColumnItem[]): boolean {
  return items.some((item) =>
    item.kind === "all" || item.kind === "nested" && takesKeys(item.items)
  );
}

/** Returns the items of a tree; empty if there is no tree. */
export function itemsOf(tree: ColumnTree | null): readonly ColumnItem[] {
  return tree === null || tree.items instanceof ServiceError ? [] : tree.items;
}

function sorted(names: readonly string[]): readonly string[] {
  return [...new Set(names)].sort();
}

/** Last segments of the parameters that address a nested item. */
export const levelSegments: ReadonlySet<string> = new Set(["on_conflict", "resolution"]);

/** Parses `<path>.on_conflict` and `<path>.resolution`. The first value for an item applies. Throws `100`. */
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
  return readText({ what: name, raw }, (scanner) => {
    const word = scanner.takeWord(resolutions, resolutionLabels);
    scanner.takeEnd([]);
    return word;
  });
}

const itemStart = ["field name (* or [a..z0..9_$])", '"*"'] as const;
const nestedStart = ['"("'] as const;
const nextOrClosing = ['","', '")"'] as const;
const comma = ['","'] as const;

/** `columns = name *( "," name )` */
function columns(scanner: Scanner): readonly string[] {
  return scanner.list("names of 'columns'", name);
}

/** `column-tree = column-item *( "," column-item )`, to the end of the text. */
function columnTree(scanner: Scanner): readonly ColumnItem[] {
  const read = columnItems(scanner);
  scanner.takeEnd(comma);
  return read;
}

function columnItems(scanner: Scanner): readonly ColumnItem[] {
  return scanner.list("names of 'columns'", columnItem);
}

/** `column-item = "*" / name / [ name ":" ] name [ "!" name ] "(" [ column-tree ] ")"` */
function columnItem(scanner: Scanner): ColumnItem {
  scanner.skipBlanks();
  if (scanner.skip("*")) return { kind: "all" };
  if (!seesName(scanner)) return scanner.fail(itemStart);
  const first = name(scanner);
  scanner.skipBlanks();
  if (scanner.skip(":")) return nestedItem(scanner, name(scanner), first);
  const isNested = scanner.sees("(") || scanner.sees("!");
  return isNested ? nestedItem(scanner, first, null) : { kind: "column", name: first };
}

function nestedItem(scanner: Scanner, target: string, alias: string | null): NestedItem {
  const hint = scanner.skip("!") ? name(scanner) : null;
  scanner.take("(", nestedStart);
  const items = scanner.nested("select", insideParentheses);
  return { kind: "nested", target, alias, hint, items };
}

const noItems: readonly ColumnItem[] = [];

/** `[ column-tree ] ")"` */
function insideParentheses(scanner: Scanner): readonly ColumnItem[] {
  scanner.skipBlanks();
  if (scanner.skip(")")) return noItems;
  const items = columnItems(scanner);
  scanner.take(")", nextOrClosing);
  return items;
}
