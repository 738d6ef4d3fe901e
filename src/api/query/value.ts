/** Renders values: columns with casts and calls. @module */
import { operatorSql } from "../request/url/operators.ts";
import type { AggregateValue } from "../plan/values/planned_values.ts";
import type {
  ExtensionObject,
  PlannedArgument,
  PlannedField,
  PlannedValue,
} from "../plan/read_node.ts";
import { valueFunctions } from "../plan/values/value_functions.ts";
import {
  catalogueSql,
  emptySql,
  ident,
  join,
  literal,
  param,
  type Sql,
  sql,
  tableSql,
} from "../../base/sql/fragment.ts";
import { renderCast } from "./field.ts";

export interface ValueSource {
  readonly field: (field: PlannedField) => Sql;
  readonly aggregate: (value: AggregateValue) => Sql;
  readonly related: (value: RelatedValue) => Sql;
  /** The row of the parent node; null for the root, and if no embed is tested. */
  readonly outer: ValueSource | null;
}

export type RelatedValue = Extract<PlannedValue, { kind: "related" }>;

export function renderValue(value: PlannedValue, source: ValueSource): Sql {
  switch (value.kind) {
    case "column":
      return source.field(value.field);
    case "cast":
      return renderCast(renderValue(value.value, source), value.type);
    case "call":
      return renderCall(value.function, {
        subject: renderValue(value.value, source),
        arguments: value.arguments.map((argument) => renderArgument(argument, source)),
        distinct: false,
        extension: value.extension ?? null,
      });
    case "document":
      return sql`pg_catalog.to_tsvector(${languageOf(value.language)}${
        renderValue(value.value, source)
      })`;
    case "aggregate":
      return source.aggregate(value);
    case "related":
      return source.related(value);
    case "outer":
      return renderValue(value.value, source.outer!);
    default:
      return value satisfies never;
  }
}

/** Renders an aggregate. `filter` is a condition on its rows; null for all rows. */
export function renderAggregate(
  { function: name, arguments: args, distinct }: AggregateValue,
  { argument, filter }: { readonly argument: Sql; readonly filter: Sql | null },
): Sql {
  const called = renderCall(name, {
    subject: argument,
    arguments: args.map((each) => renderArgument(each, noRow)),
    distinct,
    extension: null,
  });
  return filter === null ? called : sql`${called} filter (where ${filter})`;
}

/** Source for further arguments of aggregates. These are constants, so the source has no values. */
const noRow: ValueSource = { field: noValue, aggregate: noValue, related: noValue, outer: null };

function noValue(): never {
  throw new TypeError("cannot render an argument of an aggregate: it is not a constant");
}

interface CallOperands {
  readonly subject: Sql;
  readonly arguments: readonly Sql[];
  readonly distinct: boolean;
  readonly extension: ExtensionObject | null;
}

/** `$0`, `$*`, `$d`, `$s`, `$t`, or `[…|…]`. */
const placeholder = /\$([0-9*dst])|\[([^|\]]*)\|([^\]]*)\]/g;

function renderCall(name: string, operands: CallOperands): Sql {
  return renderTemplate(valueFunctions.get(name)!.sql, operands);
}

function renderTemplate(text: string, operands: CallOperands): Sql {
  const parts: Sql[] = [];
  let from = 0;
  for (const match of text.matchAll(placeholder)) {
    const [whole, place, present = "", absent = ""] = match;
    parts.push(tableSql(text.slice(from, match.index)));
    parts.push(
      place === undefined
        ? renderTemplate(hasOperands(present, operands) ? present : absent, operands)
        : renderPlace(place, operands),
    );
    from = match.index + whole.length;
  }
  return join([...parts, tableSql(text.slice(from))], emptySql);
}

function hasOperands(text: string, { arguments: args }: CallOperands): boolean {
  return [...text.matchAll(/\$([1-9])/g)].every(([, position]) => Number(position) <= args.length);
}

function renderPlace(
  place: string,
  { subject, arguments: args, distinct, extension }: CallOperands,
): Sql {
  switch (place) {
    case "0":
      return subject;
    case "*":
      return join(args);
    case "d":
      return distinct ? sql`distinct ` : emptySql;
    case "s":
      return ident(extension!.schema);
    case "t":
      return catalogueSql(extension!.rightType!);
    default:
      return args[Number(place) - 1]!;
  }
}

function renderArgument(argument: PlannedArgument, source: ValueSource): Sql {
  switch (argument.kind) {
    case "value":
      return renderValue(argument.value, source);
    case "constant": {
      const { text, type } = argument;
      return type === null ? param(text) : sql`cast(${param(text)} as ${constantTypes[type]})`;
    }
    case "textQuery": {
      const { operator, language, text } = argument;
      return sql`pg_catalog.${tableSql(operatorSql(operator))}(${languageOf(language)}${
        param(text)
      })`;
    }
    case "word":
      return literal(argument.text);
    case "name":
      return ident(argument.text);
    case "distinct":
      return emptySql;
    default:
      return argument satisfies never;
  }
}

/** Renders the language argument of full-text search functions; empty for the default language. */
function languageOf(language: string | null): Sql {
  return language === null ? emptySql : sql`cast(${param(language)} as pg_catalog.regconfig), `;
}

const constantTypes = {
  numeric: sql`pg_catalog.numeric`,
  integer: sql`integer`,
  interval: sql`interval`,
  text: sql`pg_catalog.text`,
} as const;
