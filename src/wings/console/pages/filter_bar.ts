/// <reference lib="dom" />
/** The filters of a table. @module */
import { useEffect, useState } from "preact/hooks";
import type { ConsoleRelation } from "../server/console_schema.ts";
import { problemOf } from "./edit.ts";
import {
  type ColumnFilter,
  type FilteredColumn,
  type FilterOperator,
  filterOperators,
  firstPage,
  operatorsOf,
  type TableQuery,
  takesValue,
  typeKind,
} from "./filters.ts";
import { type Reference, referencesOf } from "./labels.ts";
import { ValueInput } from "./value_input.ts";
import { html, Icon, Select, type View, withText } from "./view.ts";

interface FilterBarProps {
  readonly relation: ConsoleRelation;
  readonly query: TableQuery;
  readonly onQuery: (query: TableQuery) => void;
}

/** A row of controls for each filter, and a control that adds a filter. */
export function FilterBar({ relation, query, onQuery }: FilterBarProps): View {
  const { filters, others } = query;
  const change = (index: number, filter: ColumnFilter | null) => {
    const next = filter === null ? filters.toSpliced(index, 1) : filters.with(index, filter);
    onQuery({ ...firstPage(query), filters: next });
  };
  if (filters.length === 0 && others.length === 0) return null;
  return html`
    <div class="row bar" role="group" aria-label="Filters">
      ${filters.map((filter, index) =>
        html`
          <${FilterRow} key=${`${index}-${filter.column}`} ...${{ relation, filter }}
            onChange=${(next: ColumnFilter | null) => change(index, next)} />
        `
      )}
      ${others.map(([name, value], index) =>
        html`<span class="row tag" key=${index}><code>${name}=${value}</code>
          <button type="button" class="icon-button" aria-label=${`Remove ${name}`}
            onClick=${() => onQuery({ ...query, others: others.toSpliced(index, 1) })}>
            <${Icon} name="close" /></button></span>`
      )}
    </div>
  `;
}

/** Returns a filter for the first column without a filter. */
export function newFilter(
  relation: ConsoleRelation,
  filters: readonly ColumnFilter[],
): ColumnFilter {
  const column =
    relation.columns.find(({ name }) => !filters.some((each) => each.column === name)) ??
      relation.columns[0]!;
  return { column: column.name, path: "", operator: operatorsOf(column)[0]!, value: "" };
}

interface FilterRowProps {
  readonly relation: ConsoleRelation;
  readonly filter: ColumnFilter;
  readonly onChange: (filter: ColumnFilter | null) => void;
}

function FilterRow({ relation, filter, onChange }: FilterRowProps): View {
  const column = relation.columns.find(({ name }) => name === filter.column) ?? textColumn;
  const choices = operatorsOf(column);
  const operators = choices.includes(filter.operator) ? choices : [filter.operator, ...choices];
  const chooseColumn = (name: string) => {
    const [operator] = operatorsOf(relation.columns.find((each) => each.name === name)!);
    onChange({ column: name, path: "", operator: operator!, value: "" });
  };
  const hasPath = typeKind(column.baseType) === "json" || filter.path !== "";
  const chooseOperator = (operator: FilterOperator) =>
    onChange({ ...filter, operator, value: takesValue(operator) ? filter.value : "" });
  return html`
    <div class="row line box filter">
      <${Select} label="Column" value=${filter.column} onValue=${chooseColumn}
        options=${relation.columns.map(({ name }) => name)} />
      ${hasPath && html`
        <input type="text" class="mono" aria-label="Path within the value"
          value=${filter.path} placeholder="->>name"
          onChange=${withText((path) => onChange({ ...filter, path }))} />
      `}
      <${Select} label="Operator" value=${filter.operator} onValue=${chooseOperator}
        options=${operators.map((each) => [each, filterOperators[each]])} />
      ${takesValue(filter.operator) && html`
        <${FilterValue} ...${{ column, filter, onChange }}
          reference=${referencesOf(relation).find((each) => each.column === filter.column)} />
      `}
      <button type="button" class="icon-button" aria-label=${`Remove the filter of ${filter.column}`}
        onClick=${() => onChange(null)}><${Icon} name="close" /></button>
    </div>
  `;
}

const textColumn: FilteredColumn = { baseType: "text", enumLabels: [] };

/** Milliseconds after the last key until a value is applied. */
const typingPauseMs = 350;

interface FilterValueProps extends Pick<FilterRowProps, "filter" | "onChange"> {
  readonly reference: Reference | undefined;
  readonly column: FilteredColumn;
}

/** The value of a filter, which is applied after a pause in typing. */
function FilterValue({ column, filter, reference, onChange }: FilterValueProps): View {
  const [text, setText] = useState(filter.value);
  const id = `filter-${filter.column}`;
  // Focuses the field of a new filter.
  useEffect(() => {
    if (filter.value === "") document.getElementById(id)?.focus();
  }, []);
  useEffect(() => setText(filter.value), [filter.value]);
  useEffect(() => {
    if (text === filter.value || isUnfinished(column, filter, text)) return;
    const timer = setTimeout(() => onChange({ ...filter, value: text }), typingPauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  const isList = filter.operator === "in";
  const input = isList || filter.path !== "" ? textColumn : column;
  const isJson = typeKind(input.baseType) === "json" || typeKind(input.baseType) === "array";
  return html`
    <${ValueInput} column=${isJson ? textColumn : input} label="Value" ...${{ id }}
      reference=${isList || filter.path !== "" ? undefined : reference}
      value=${isList ? text.replaceAll("\n", ", ") : text}
      placeholder=${isList ? "a, b, c" : placeholders[typeKind(column.baseType)] ?? ""}
      onValue=${(value: string) => setText(isList ? value.split(/\s*,\s*/).join("\n") : value)} />
  `;
}

/** Returns whether the API would reject a text as value of the column. */
function isUnfinished(
  column: FilterValueProps["column"],
  { operator, path }: ColumnFilter,
  text: string,
): boolean {
  const isCompared = /^(?:eq|neq|gte?|lte?)$/.test(operator) && path === "" && text !== "";
  return isCompared && problemOf({ maxLength: null, ...column }, text) !== null;
}

const placeholders: Partial<Record<ReturnType<typeof typeKind>, string>> = {
  time: "2026-01-31",
  json: '{"a": 1}',
  array: "{a,b}",
};
