/// <reference lib="dom" />
/**
 * One row: all its values, the rows that refer to it, and its deletion.
 *
 * @module
 */
import { useEffect, useState } from "preact/hooks";
import type { ConsoleRelation, ConsoleRelationship } from "../admin/console_data.ts";
import { type ApiError, callApi, errorOf, rowsOf } from "./api.ts";
import { CallPreview } from "./call_preview.ts";
import { cellText, valueText } from "./cells.ts";
import { deleteCall, equalTo, type GridRow, hasKey } from "./edit.ts";
import { ErrorBox } from "./error_box.ts";
import { encode, fieldName } from "./filters.ts";
import { guarded, profileHeader, relationshipsOf, verbsOf } from "./model.ts";
import { hrefOf } from "./route.ts";
import { useRowTag } from "./row_tag.ts";
import { Dialog, Empty, html, Icon, type View } from "./view.ts";

interface RowPanelProps {
  readonly relation: ConsoleRelation;
  readonly row: GridRow;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

/** The panel. Its tabs are the values and the referring tables. */
export function RowPanel({ relation, row, onClose, onDeleted }: RowPanelProps): View {
  const [tab, setTab] = useState(0);
  const [isDeleting, setDeleting] = useState(false);
  const children = relationshipsOf(relation).filter(isReverse);
  const labels = ["Values", ...children.map(childLabel)];
  const child = children[tab - 1];
  const canDelete = verbsOf(relation).delete && hasKey(relation, row);
  return html`
    <${Dialog} title=${rowTitle(relation, row)} onClose=${onClose} kind="drawer">
      ${labels.length > 1 && html`<${Tabs} labels=${labels} current=${tab} onChoose=${setTab} />`}
      <div role=${labels.length > 1 ? "tabpanel" : null} id="row-panel" class="stack"
        aria-label=${labels[tab]}>
        ${child === undefined
          ? html`<${Values} ...${{ relation, row }} />`
          : html`<${Children} key=${child.hint} ...${{ relationship: child, row }} />`}
      </div>
      ${canDelete && html`<div class="actions"><button type="button" class="button is-danger"
        onClick=${() => setDeleting(true)}><${Icon} name="trash" />Delete…</button></div>`}
      ${isDeleting && html`
        <${DeleteDialog} ...${{ relation, row, onDeleted }}
          onClose=${() => setDeleting(false)} />
      `}
    <//>
  `;
}

function isReverse({ kind, isForward }: ConsoleRelationship): boolean {
  return kind === "one-to-many" || (kind === "one-to-one" && !isForward);
}

function childLabel({ foreign, pairs }: ConsoleRelationship): string {
  return `${foreign[1]} by ${pairs.map(([, column]) => column).join(", ")}`;
}

function rowTitle({ name, primaryKey }: ConsoleRelation, row: GridRow): string {
  const key = primaryKey.map((column) => cellText(row[column])).join(", ");
  return key === "" ? name : `${name} ${key}`;
}

interface TabsProps {
  readonly labels: readonly string[];
  readonly current: number;
  readonly onChoose: (index: number) => void;
}

function Tabs({ labels, current, onChoose }: TabsProps): View {
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const next = (current + step + labels.length) % labels.length;
    onChoose(next);
    document.getElementById(`row-tab-${next}`)?.focus();
  };
  return html`
    <div role="tablist" aria-label="Row" class="tabs" onKeyDown=${onKeyDown}>
      ${labels.map((label, index) =>
        html`
          <button key=${label} id=${`row-tab-${index}`} type="button" role="tab" class="tab"
            aria-selected=${String(index === current)} aria-controls="row-panel"
            tabindex=${index === current ? 0 : -1} onClick=${() =>
              onChoose(index)}>${label}</button>
        `
      )}
    </div>
  `;
}

function Values({ relation, row }: Pick<RowPanelProps, "relation" | "row">): View {
  const links = foreignLinks(relationshipsOf(relation), row);
  return html`
    <dl class="values">
      ${Object.entries(row).map(([name, value]) => {
        const column = relation.columns.find((each) => each.name === name);
        const link = links.get(name);
        return html`
          <div key=${name}>
            <dt>${name}<small>${column?.type ?? ""}</small></dt>
            <dd class=${value === null ? "is-null" : ""}><pre>${valueText(
              value,
              column?.baseType,
            )}</pre>${link !== undefined && html`<a class="small-button" href=${link.href}>
              <${Icon} name="link" />Open ${link.name}</a>`}</dd>
          </div>
        `;
      })}
    </dl>
  `;
}

/** The way to a referenced row. */
export interface RowLink {
  readonly href: string;
  /** Name of the referenced table. */
  readonly name: string;
}

/** Returns the links to referenced rows by column. `relationships` are those of the row's table. */
export function foreignLinks(
  relationships: readonly ConsoleRelationship[],
  row: GridRow,
): ReadonlyMap<string, RowLink> {
  const links = new Map<string, RowLink>();
  for (const { isForward, foreign: [schema, name], pairs } of relationships) {
    if (!isForward) continue;
    if (pairs.some(([column]) => row[column] === null || row[column] === undefined)) continue;
    const query = filtersText(pairs.map(([own, other]) => [other, row[own]]));
    const href = hrefOf({ page: "table", schema, name, view: "rows", query });
    for (const [column] of pairs) links.set(column, { href, name });
  }
  return links;
}

function filtersText(values: readonly (readonly [column: string, value: unknown])[]): string {
  return values.map(([column, value]) => `${encode(fieldName(column))}=${encode(equalTo(value))}`)
    .join("&");
}

interface ChildrenProps {
  readonly relationship: ConsoleRelationship;
  readonly row: GridRow;
}

/** Rows of a referring table that the panel shows. */
const maxChildren = 20;

function Children({ relationship, row }: ChildrenProps): View {
  const [rows, setRows] = useState<readonly GridRow[] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const { foreign: [schema, name], pairs } = relationship;
  const query = filtersText(pairs.map(([own, other]) => [other, row[own]]));
  useEffect(() => {
    void guarded(async () => {
      const answer = await callApi({
        method: "GET",
        path: encodeURIComponent(name),
        query: `${query}&limit=${maxChildren}`,
        headers: profileHeader(schema, "GET"),
        body: null,
      });
      const failure = errorOf(answer);
      if (failure === null) setRows(rowsOf(answer));
      else setError(failure);
    });
  }, [name, query]);
  if (error !== null) return html`<${ErrorBox} error=${error} />`;
  if (rows === null) return html`<p class="loading">Loading…</p>`;
  const columns = Object.keys(rows[0] ?? {}).filter((each) =>
    !pairs.some(([, own]) => own === each)
  )
    .slice(0, 4);
  return html`
    ${rows.length === 0 && html`<${Empty} title="No row refers to this one" />`}
    ${rows.length > 0 && html`
      <table class="plain-table">
        <thead>
          <tr>${columns.map((each) => html`<th key=${each} scope="col">${each}</th>`)}</tr>
        </thead>
        <tbody>${rows.map((each, index) =>
          html`<tr key=${index}>${
            columns.map((column) => html`<td key=${column}>${cellText(each[column])}</td>`)
          }</tr>`
        )}</tbody>
      </table>
    `}
    <a class="button" href=${hrefOf({ page: "table", schema, name, view: "rows", query })}>
      <${Icon} name="table" />Open in ${name}${rows.length === maxChildren
        ? ` (first ${maxChildren} shown)`
        : ""}</a>
  `;
}

interface DeleteDialogProps extends Pick<RowPanelProps, "relation" | "row" | "onDeleted"> {
  readonly onClose: () => void;
}

function DeleteDialog({ relation, row, onClose, onDeleted }: DeleteDialogProps): View {
  const [error, setError] = useState<ApiError | null>(null);
  const profile = profileHeader(relation.schema, "DELETE");
  const { tag, isKnown } = useRowTag(relation, row);
  const call = deleteCall(relation, row, { profile, isTry: false, tag });
  const send = () =>
    guarded(async () => {
      const answer = await callApi(call);
      const failure = errorOf(answer);
      if (failure === null) onDeleted();
      else setError(failure);
    });
  return html`
    <${Dialog} title=${`Delete ${rowTitle(relation, row)}?`} onClose=${onClose} kind="narrow">
      <div class="stack">
        <p>The row is deleted for good.</p>
        <pre class="row-text" tabindex="0" aria-label="Row">${JSON.stringify(row, null, 2)}</pre>
        <${CallPreview} call=${call} />
        ${error !== null && html`<${ErrorBox} error=${error} />`}
        <div class="actions">
          <button type="button" class="button" onClick=${onClose}>Keep the row</button>
          <button type="button" class="button is-danger" disabled=${!isKnown} onClick=${send}>Delete</button>
        </div>
      </div>
      <//>
  `;
}
