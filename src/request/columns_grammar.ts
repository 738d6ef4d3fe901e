/**
 * The lists of names in `columns` and `on_conflict`, and the tree that `columns` of a nested insert is.
 *
 * @module
 */
import { name, seesName } from "./name_grammar.ts";
import type { ColumnItem, NestedItem } from "./query_types.ts";
import type { Scanner } from "./scanner.ts";

const itemStart = ["field name (* or [a..z0..9_$])", '"*"'] as const;
const nestedStart = ['"("'] as const;
const nextOrClosing = ['","', '")"'] as const;
const comma = ['","'] as const;

/** `columns = name *( "," name )`; text after the last name is ignored. */
export function columns(scanner: Scanner): readonly string[] | undefined {
  const read: string[] = [];
  do {
    const column = name(scanner);
    if (column === undefined) return undefined;
    read.push(column);
    scanner.skipBlanks();
  } while (scanner.skip(","));
  return read;
}

/** `column-tree = column-item *( "," column-item )`, to the end of the text. */
export function columnTree(scanner: Scanner): readonly ColumnItem[] | undefined {
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
