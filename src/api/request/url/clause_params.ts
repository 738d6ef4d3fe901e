/** Parameters of reads only: `having`, `distinct`, `after`, `<embed>.any` and `@name`. @module */
import { errors } from "../../../base/errors/catalogue.ts";
import { group } from "./logic_grammar.ts";
import { field } from "./name_grammar.ts";
import type { ValuedParam } from "./query_string.ts";
import type { Clause, NamedClause } from "./query_types.ts";
import { readText } from "./read_text.ts";
import type { Scanner } from "./scanner.ts";
import type { Field } from "./value_types.ts";

const maxTexts = 32;
const maxDistinctTerms = 32;

type ClauseReader = (value: string, path: readonly string[]) => Clause;

const readers: ReadonlyMap<string, ClauseReader> = new Map<string, ClauseReader>([
  ["having", (raw) => ({
    kind: "having",
    group: {
      kind: "group",
      negated: false,
      operator: "and",
      children: readText({ what: "logic tree", raw }, group),
    },
  })],
  ...(["any", "all", "none"] as const).map((quantifier): [string, ClauseReader] => [
    quantifier,
    (raw, path) => ({
      kind: "embedTest",
      test: {
        kind: "embedTest",
        embed: path.at(-1)!,
        quantifier,
        children: readText({ what: "logic tree", raw }, group),
      },
    }),
  ]),
  ["distinct", (raw) => readText({ what: "distinct", raw }, distinct)],
  // Cursors are decoded later, by the plan, because their keys depend on the order.
  ...(["after", "before"] as const).map((direction): [string, ClauseReader] => [
    direction,
    (raw) => ({ kind: "page", direction, cursor: raw }),
  ]),
]);

/** Returns whether a parameter of this name is a clause, unless its value is a filter. */
export function isClauseName(name: string): boolean {
  return readers.has(name);
}

/** `distinct = "*" / field *( "," field )` */
function distinct(scanner: Scanner): Clause {
  if (scanner.text.trim() === "*") return { kind: "distinct", fields: "all" };
  const fields: Field[] = [];
  do {
    fields.push(field(scanner));
    if (fields.length > maxDistinctTerms) {
      throw errors.queryTooComplex(maxDistinctTerms, "terms of 'distinct'");
    }
  } while (scanner.skip(","));
  scanner.takeEnd(comma);
  return { kind: "distinct", fields };
}

const comma = ['","'] as const;

/** Parses a clause; undefined for other parameters. `path` is the name without its last segment. Throws `100`. */
export function readClause(
  { name, value }: ValuedParam,
  path: readonly string[],
): NamedClause | undefined {
  const last = name.slice(name.lastIndexOf(".") + 1);
  const reader = readers.get(last);
  const isTest = last === "any" || last === "all" || last === "none";
  if (reader === undefined || (isTest && path.length === 0)) return undefined;
  const isCursor = last === "after" || last === "before";
  if (isCursor && path.length > 0) throw errors.cursorConflict("an embed");
  return { name: last, path: isTest ? path.slice(0, -1) : path, value: reader(value, path) };
}

/** Returns the name after `@`; null for other parameters. */
export function textName(name: string): string | null {
  return /^@ *([\p{L}0-9_$]+(?: +[\p{L}0-9_$]+)*) *$/u.exec(name)?.[1] ?? null;
}

/** Returns the texts of `@name` parameters. The last value of a repeated name applies. Throws `177`. */
export function readTexts(params: readonly ValuedParam[]): ReadonlyMap<string, string> {
  if (params.length > maxTexts) throw errors.queryTooComplex(maxTexts, "'@' parameters");
  return new Map(params.map(({ name, value }) => [textName(name)!, value]));
}
