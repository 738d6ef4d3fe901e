/**
 * The lists of names in `columns` and `on_conflict`.
 *
 * @module
 */
import { name } from "./name_grammar.ts";
import type { Scanner } from "./scanner.ts";

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
