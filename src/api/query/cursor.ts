/** Renders cursors: the text of a row's position, and the rows after a position. @module */
import type { CursorPage, CursorTerm, NodeCursor, PlannedOrder } from "../plan/read/read_node.ts";
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
  // Lines of base64 end after 76 characters.
  return sql`pg_catalog.translate(pg_catalog.encode(pg_catalog.convert_to(${json}, 'UTF8'), 'base64'), E'+/=\\n', '-_')`;
}

/** Renders a value so that its type reads the text back, whatever `DateStyle` is set. */
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

/** Returns the order in which a page reads its rows: reversed for the rows before a cursor. */
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

/** Returns the direction of a term and the place of NULL, with PostgreSQL's defaults. */
function placementOf({ direction, nulls }: Pick<PlannedOrder, "direction" | "nulls">) {
  return {
    direction: direction ?? "asc",
    nulls: nulls ?? (direction === "desc" ? "first" : "last"),
  } as const;
}

interface KeyedTerm {
  readonly value: Sql;
  /** Null for NULL. */
  readonly key: Sql | null;
  readonly nullable: boolean;
  readonly isDescending: boolean;
  readonly nullsFirst: boolean;
}

/**
 * Renders the conditions of rows after the position of a page, in the order of reading. Each row
 * fulfils at most one of them, and the rows of an earlier one come first. Null means all rows.
 *
 * A condition on a nullable column has another one for NULL: PostgreSQL reads an index for each of
 * two conditions, but the whole index for their OR.
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

/** Renders one comparison of rows; null unless it has the meaning of the terms for a first value not NULL. */
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

/** Renders a condition that an index on the first term can begin at. */
function bounded({ value, isDescending }: KeyedTerm, bound: Sql, rest: readonly KeyedTerm[]): Sql {
  const strict = sql`${value} ${isDescending ? sql`<` : sql`>`} ${bound}`;
  const equal = alternatives(rest);
  if (equal.length === 0) return strict;
  const inclusive = sql`${value} ${isDescending ? sql`<=` : sql`>=`} ${bound}`;
  return and([inclusive, or([strict, and([sql`${value} = ${bound}`, or(equal)])])]);
}
