/**
 * The levels that parameters address: `makers.order` orders the embedded `makers`.
 *
 * @module
 */
import { root, wholeNames } from "./name_grammar.ts";
import { readText } from "./read_text.ts";

/** The level of a parameter, from the segments before its last. Raises `100`. */
export function levelOf(name: string): readonly string[] {
  if (!name.includes(".")) return root;
  return readText({ what: "tree path", raw: name }, wholeNames).slice(0, -1);
}

/** A text that is the same for the same level only, and empty for the root; no name holds NUL. */
export function levelKey(path: readonly string[]): string {
  return path.map((name) => `${name}\0`).join("");
}
