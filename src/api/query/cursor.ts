/** Renders cursors: the text of a row's position, and the condition for rows after a position. @module */
import type { CursorPage, CursorTerm, NodeCursor, PlannedOrder } from "../plan/read_node.ts";
import { and, join, or, param, type Sql, sql } from "../../base/sql/fragment.ts";

export function cursorText({ fingerprint, terms }: NodeCursor, values: readonly Sql[]): Sql {
  const keys = values.map((value, index) => {
    const key = keyText(value, terms[index]!.text);
    return sql`coalesce(pg_catalog.to_json(${key})::pg_catalog.text, 'null')`;
  });
  const list = join(keys, sql`, ',', `);
  const json = sql`pg_catalog.concat('[1,"', ${
    param(fingerprint)
  }::pg_catalog.text, '",[', ${list}, ']]')`;
  // The line breaks that PostgreSQL writes in base64, after 76 characters, are removed.
  return sql`pg_catalog.translate(pg_catalog.encode(pg_catalog.convert_to(${json}, 'UTF8'), 'base64'), E'+/=\\n', '-_')`;
}

/** Renders a value as text that its type can read back with any `DateStyle`. */
function keyText(value: Sql, text: CursorTerm["text"]): Sql {
  const json = sql`pg_catalog.to_json(${value}) #>> '{}'`;
  const cast = sql`cast(${value} as pg_catalog.text)`;
  switch (text) {
    case "cast":
      return cast;
    case "json":
      return json;
    case "by-type":
      return sql`case when pg_catalog.pg_typeof(${value}) in ('date', 'timestamp', 'timestamptz') then ${json} else ${cast} end`;
    default:
      return text satisfies never;
  }
}

/** Returns the order in which a page reads rows. It is reversed for rows before a cursor. */
export function readingOrder<Term extends Pick<PlannedOrder, "direction" | "nulls">>(
  term: Term,
  page: CursorPage | null,
): Term {
  if (page?.direction !== "before") return term;
  const { direction, nulls } = placementOf(term);
  return {
    ...term,
    direction: direction === "asc" ? "desc" : "asc",
    nulls: nulls === "first" ? "last" : "first",
  };
}

/** Returns the direction of a term and the place of NULL, with the defaults of PostgreSQL. */
function placementOf({ direction, nulls }: Pick<PlannedOrder, "direction" | "nulls">) {
  return {
    direction: direction ?? "asc",
    nulls: nulls ?? (direction === "desc" ? "first" : "last"),
  } as const;
}

interface KeyedTerm {
  readonly value: Sql;
  /** Value of the term at the position of the cursor; null for SQL NULL. */
  readonly key: Sql | null;
  readonly nullable: boolean;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}

/**
 * Renders conditions for the rows after a page's position, in reading order. Each row satisfies at
 * most one of them, and rows of an earlier condition come first. Null means all rows.
 *
 * A nullable column has a separate condition for NULL. PostgreSQL uses an index for each of two
 * conditions, but reads the whole index for their OR.
 */
export function rowsBehind(
  { terms, page }: NodeCursor,
  order: readonly { readonly value: Sql; readonly term: PlannedOrder }[],
): readonly Sql[] | null {
  const { keys } = page;
  if (keys === null) return null;
  const keyed = order.map(({ value, term }, index): KeyedTerm => {
    const { direction, nulls } = placementOf(readingOrder(term, page));
    const key = keys[index] ?? null;
    return {
      value,
      key: key === null ? null : param(key),
      nullable: terms[index]!.nullable,
      isDescending: direction === "desc",
      nullsFirst: nulls === "first",
    };
  });
  const conditions = alternatives(keyed);
  return conditions.length === 0 ? [sql`false`] : conditions;
}

function alternatives(terms: readonly KeyedTerm[]): readonly Sql[] {
  const [term, ...rest] = terms;
  if (term === undefined) return [];
  const { value, key, nullable, nullsFirst } = term;
  const nulls = sql`${value} is null`;
  if (key === null) {
    const among = alternatives(rest).map((condition) => and([nulls, condition]));
    return nullsFirst ? [...among, sql`${value} is not null`] : among;
  }
  const filled = rowComparison(terms) ?? bounded(term, key, rest);
  return nullable && !nullsFirst ? [filled, nulls] : [filled];
}

/** Renders a single comparison of rows. Returns null if it is not equivalent to the terms when the
 * first value is not NULL. */
function rowComparison(terms: readonly KeyedTerm[]): Sql | null {
  const [first] = terms;
  const isUniform = terms.every(({ key, nullable, isDescending }, index) =>
    key !== null && isDescending === first!.isDescending && (index === 0 || !nullable)
  );
  if (!isUniform) return null;
  const values = join(terms.map(({ value }) => value));
  const keys = join(terms.map(({ key }) => key!));
  const operator = first!.isDescending ? sql`<` : sql`>`;
  return terms.length === 1
    ? sql`${values} ${operator} ${keys}`
    : sql`(${values}) ${operator} (${keys})`;
}

/** Renders a condition at which a scan of an index on the first term can begin. */
function bounded({ value, isDescending }: KeyedTerm, bound: Sql, rest: readonly KeyedTerm[]): Sql {
  const strict = sql`${value} ${isDescending ? sql`<` : sql`>`} ${bound}`;
  const equal = alternatives(rest);
  if (equal.length === 0) return strict;
  const inclusive = sql`${value} ${isDescending ? sql`<=` : sql`>=`} ${bound}`;
  return and([inclusive, or([strict, and([sql`${value} = ${bound}`, or(equal)])])]);
}
