/** Renders filters, groups of filters, and orders. @module */
import { orderField } from "../plan/values/fields.ts";
import type { Conditions } from "../plan/conditions.ts";
import type { Condition, FieldCondition, PlannedField, PlannedValue } from "../plan/read_node.ts";
import { isPattern, operatorSql, type OperatorWord } from "../request/url/operators.ts";
import type { IsWord, OrderTerm } from "../request/url/query_types.ts";
import type { QualifiedName, Relation } from "../../state/schema_cache/schema_cache.ts";
import {
  and,
  emptySql,
  ident,
  join,
  or,
  param,
  type Sql,
  sql,
  tableSql,
} from "../../base/sql/fragment.ts";
import { arrayLiteral } from "../../base/sql/array_literal.ts";
import { renderConversion, renderField } from "./field.ts";
import { renderAggregate, renderValue, type ValueSource } from "./value.ts";

export type RelatedCondition = Extract<Condition, { kind: "related" }>;

export interface EmbedTests {
  readonly exists: (embed: number) => Sql;
  readonly related: (condition: RelatedCondition) => Sql;
  /** Renders a comparison with the number of an embed's rows; null for other comparisons. */
  readonly count: (condition: FieldCondition) => Sql | null;
}

/** Renders conditions. `qualifier` qualifies the columns: an alias, or schema and table. */
export function renderConditions(conditions: Conditions, qualifier: Sql): readonly Sql[] {
  return renderConditionList(conditions, valuesOf(qualifier));
}

export type ValueRenderer = (value: PlannedValue) => Sql;

/** Renders conditions: their values by `render`, embeds by `tests`. Default: embeds are not tested. */
export function renderConditionList(
  conditions: Conditions,
  render: ValueRenderer,
  tests: EmbedTests = noEmbeds,
): readonly Sql[] {
  return conditions.map((condition) => renderCondition(condition, render, tests));
}

function valuesOf(qualifier: Sql): ValueRenderer {
  const source = rowSource((field: PlannedField) => renderField(field, qualifier), qualifier);
  return (value) => renderValue(value, source);
}

/** Returns the source of a row's values. `qualifier` qualifies columns in filters of aggregates. */
export function rowSource(
  field: ValueSource["field"],
  qualifier: Sql,
  { related, outer }: Pick<ValueSource, "related" | "outer"> = noOthers,
): ValueSource {
  const source: ValueSource = {
    field,
    related,
    outer,
    aggregate: (value) => {
      const { argument, filter } = value;
      return renderAggregate(value, {
        argument: argument === null ? sql`true` : renderValue(argument, source),
        filter: filter.length === 0 ? null : and(renderConditions(filter, qualifier)),
      });
    },
  };
  return source;
}

/** Renders ` where …` with conditions that must all hold; empty without conditions. */
export function whereClause(conditions: readonly Sql[]): Sql {
  return conditions.length === 0 ? emptySql : sql` where ${join(conditions, sql` and `)}`;
}

const noOthers: Pick<ValueSource, "related" | "outer"> = { related: noEmbed, outer: null };
const noEmbeds: EmbedTests = { exists: noEmbed, related: noEmbed, count: () => null };

function noEmbed(): never {
  throw new TypeError("cannot render a condition on an embed: it has no node");
}

function renderCondition(condition: Condition, render: ValueRenderer, tests: EmbedTests): Sql {
  switch (condition.kind) {
    case "embedded":
      return negate(!condition.present, tests.exists(condition.embed));
    case "related":
      return tests.related(condition);
    case "group": {
      const children = condition.children.map((child) => renderCondition(child, render, tests));
      return negate(condition.negated, groups[condition.operator](children));
    }
    default:
      return negate(condition.negated, tests.count(condition) ?? comparison(condition, render));
  }
}

const groups = { and, or } as const;

function negate(negated: boolean, condition: Sql): Sql {
  return negated ? sql`not (${condition})` : condition;
}

function comparison(filter: FieldCondition, render: ValueRenderer): Sql {
  const field = render(filter.field);
  switch (filter.kind) {
    case "compare":
      return sql`${field} ${operatorOf(filter.operator)} ${comparedValue(filter)}`;
    case "in":
      return sql`${field} = any (${anyOf(listLiteral(filter.values), filter.convert)})`;
    case "is":
      return sql`${field} is ${words[filter.word]}`;
    case "isdistinct":
      return sql`${field} is distinct from ${param(filter.value)}`;
    case "similar": {
      const operator = sql`operator(${ident(filter.schema)}.${operatorOf(filter.operator)})`;
      return sql`${field} ${operator} cast(${param(filter.value)} as pg_catalog.text)`;
    }
    case "column": {
      const other = filter.isExcluded ? valuesOf(sql`excluded`) : render;
      return sql`${field} ${operatorOf(filter.operator)} ${other(filter.other)}`;
    }
    case "fullText":
      return fullText(filter, field);
    default:
      return filter satisfies never;
  }
}

function operatorOf(word: OperatorWord): Sql {
  return tableSql(operatorSql(word));
}

const words: Record<IsWord, Sql> = {
  null: sql`null`,
  not_null: sql`not null`,
  true: sql`true`,
  false: sql`false`,
  unknown: sql`unknown`,
};

const quantifiers = { any: sql`any`, all: sql`all` } as const;

function comparedValue(filter: Extract<FieldCondition, { kind: "compare" }>): Sql {
  const { operator, quantifier, value, convert } = filter;
  const text = isPattern(operator) ? value.replaceAll("*", "%") : value;
  if (quantifier !== null) return sql`${quantifiers[quantifier]} (${anyOf(text, convert)})`;
  // The cast to text is needed: `type_name('literal')` would be a cast to that type, not a call.
  return convert === null
    ? param(text)
    : renderConversion(sql`cast(${param(text)} as pg_catalog.text)`, convert);
}

/** Renders an array whose elements are converted; null means no conversion. */
function anyOf(array: string, convert: QualifiedName | null): Sql {
  if (convert === null) return param(array);
  const elements = sql`pg_catalog.unnest(cast(${
    param(array)
  } as pg_catalog.text[])) as literals(literal)`;
  return sql`array(select ${renderConversion(sql`literals.literal`, convert)} from ${elements})`;
}

/**
 * Returns the array literal of a list. A list with a single empty element becomes an empty array.
 */
function listLiteral(values: readonly string[]): string {
  if (values.length === 1 && values[0] === "") return "{}";
  return arrayLiteral(values);
}

function fullText(filter: Extract<FieldCondition, { kind: "fullText" }>, field: Sql): Sql {
  // The fragment is made once, so that its two uses share one parameter.
  const language = filter.language === null ? emptySql : sql`${param(filter.language)}, `;
  const document = filter.toTsvector ? sql`to_tsvector(${language}${field})` : field;
  return sql`${document} @@ ${operatorOf(filter.operator)}(${language}${param(filter.value)})`;
}

export function orderTerm(value: Sql, { direction, nulls }: Direction): Sql {
  return sql`${value}${direction === null ? emptySql : directions[direction]}${
    nulls === null ? emptySql : nullsOrders[nulls]
  }`;
}

type Direction = Pick<OrderTerm, "direction" | "nulls">;

const directions = { asc: sql` asc`, desc: sql` desc` } as const;
const nullsOrders = { first: sql` nulls first`, last: sql` nulls last` } as const;

/** Renders an order by a relation's columns, for a limited write. */
export function renderOrder(order: readonly OrderTerm[], qualifier: Sql, relation: Relation): Sql {
  return join(
    order.map((term) => orderTerm(renderField(orderField(term.field, relation), qualifier), term)),
  );
}
