/// <reference lib="dom" />
/** Labels of referenced rows, such as names in place of numbers. @module */
import { queryName } from "../../../api/request/url/filter_param.ts";
import { useEffect, useState } from "preact/hooks";
import type { ConsoleRelation, ConsoleRelationship } from "../server/console_schema.ts";
import { callApi, errorOf, rowsOf } from "./api.ts";
import { filtersText, type GridRow } from "./edit.ts";
import { encode, filterParam } from "./filters.ts";
import { guarded, readCall, relationOf, relationshipsOf } from "./model.ts";
import { hrefOf } from "./route.ts";
import { token } from "./session.ts";

/** A foreign key with one column, to a relation that has a label column. */
export interface Reference {
  readonly column: string;
  readonly foreign: ConsoleRelation;
  /** Referenced column. */
  readonly key: string;
  /** Column whose values are the labels. */
  readonly label: string;
}

const textTypes = /^(?:text|character varying|character|citext|name)\b/;

/** Returns the label column: named by the tag `@label`, otherwise the first text column outside the key. */
export function labelColumn({ columns, primaryKey, label }: ConsoleRelation): string | null {
  if (label !== null && columns.some(({ name }) => name === label)) return label;
  const column = columns.find(({ name, baseType, enumLabels }) =>
    textTypes.test(baseType) && enumLabels.length === 0 && !primaryKey.includes(name)
  );
  return column?.name ?? null;
}

/** Returns one relationship for each list of foreign key columns. It prefers a table to a view. */
function foreignKeys(
  relationships: readonly ConsoleRelationship[],
): readonly ConsoleRelationship[] {
  const rank = ({ foreign: [schema, name] }: ConsoleRelationship) =>
    Number(relationOf(schema, name)?.isView ?? true);
  const forward = relationships.filter(({ isForward }) => isForward)
    .toSorted((a, b) => rank(a) - rank(b) || a.pairs.length - b.pairs.length);
  const byColumns = new Map<string, ConsoleRelationship>();
  for (const each of forward) {
    const columns = JSON.stringify(each.pairs.map(([column]) => column).sort());
    if (!byColumns.has(columns)) byColumns.set(columns, each);
  }
  return [...byColumns.values()];
}

/** Returns the single-column references of a relation whose referenced rows have a label. */
export function referencesOf(relation: ConsoleRelation): readonly Reference[] {
  return foreignKeys(relationshipsOf(relation)).flatMap(({ pairs, foreign: [schema, name] }) => {
    const foreign = relationOf(schema, name);
    const label = foreign === null ? null : labelColumn(foreign);
    if (pairs.length !== 1 || foreign === null || label === null) return [];
    const [column, key] = pairs[0]!;
    return label === key ? [] : [{ column, foreign, key, label }];
  });
}

/** Maximum number of labels in one response. */
const maxLabels = 500;

/** A referenced row: its key as text, and its label. */
export type LabelledKey = readonly [key: string, label: string];

/** Reads keys and labels of the referenced rows that match a filter. */
async function readLabels({ foreign, key, label }: Reference, filter: string, limit: number) {
  const items = [key, label].map((name) => encode(queryName(name)));
  const query = `select=${items.join(",")}&${filter}&order=${items[1]}&limit=${limit}`;
  const answer = await callApi(readCall(foreign, query));
  if (errorOf(answer) !== null) return [];
  return rowsOf(answer).map((row): LabelledKey => [String(row[key]), String(row[label] ?? "")]);
}

/** Labels of referenced rows: by column, then by the column's value as text. */
export type Labels = ReadonlyMap<string, ReadonlyMap<string, string>>;

const noLabels: Labels = new Map();

/** Loads the labels of the rows' references. A role that may not read them gets no labels. */
export function useLabels(relation: ConsoleRelation, rows: readonly GridRow[] | null): Labels {
  const [labels, setLabels] = useState(noLabels);
  useEffect(() => {
    let isCurrent = true;
    void guarded(async () => {
      const loaded = await Promise.all(
        referencesOf(relation).map(async (reference) => {
          const { column, key } = reference;
          const values = new Set(rows?.map((row) => row[column]).filter((each) => each != null));
          const value = Array.from(values, String).slice(0, maxLabels).join("\n");
          const filter = filterParam({ column: key, path: "", operator: "in", value });
          const entries = values.size === 0
            ? []
            : await readLabels(reference, filter.map(encode).join("="), maxLabels);
          return [column, new Map(entries)] as const;
        }),
      );
      if (isCurrent) setLabels(new Map(loaded));
    });
    return () => isCurrent = false;
  }, [rows, token.value]);
  return labels;
}

const maxSuggestions = 8;

/** Returns referenced rows whose label contains a text, or whose key equals it. */
export async function findLabels(
  reference: Reference,
  text: string,
  isKey: boolean,
): Promise<readonly LabelledKey[]> {
  const quoted = (value: string) => `"${value.replace(/[\\"]/g, "\\$&")}"`;
  const pattern = quoted(`*${text.replace(/[\\%_*]/g, "\\$&")}*`);
  const terms = [
    `${queryName(reference.label)}.ilike.${pattern}`,
    ...(isKey ? [`${queryName(reference.key)}.eq.${quoted(text)}`] : []),
  ];
  const filter = text === "" ? "" : `or=${encode(`(${terms.join(",")})`)}`;
  return await readLabels(reference, filter, maxSuggestions);
}

/** Returns links to referenced rows and their tables, by column. */
export function foreignLinks(relationships: readonly ConsoleRelationship[], row: GridRow) {
  const links = new Map<string, { readonly href: string; readonly name: string }>();
  for (const { foreign: [schema, name], pairs } of foreignKeys(relationships)) {
    if (pairs.some(([column]) => row[column] == null)) continue;
    const query = filtersText(pairs.map(([column, other]) => [other, row[column]]));
    const href = hrefOf({ page: "table", schema, name, query });
    for (const [column] of pairs) if (!links.has(column)) links.set(column, { href, name });
  }
  return links;
}
