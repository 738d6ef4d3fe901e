/// <reference lib="dom" />
/** One row: all its values, the rows that refer to it, and its deletion. @module */
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ConsoleRelation, ConsoleRelationship } from "../server/console_schema.ts";
import { callApi } from "./api.ts";
import { cellText, valueText } from "./cells.ts";
import { filtersText, type GridRow, hasKey, writeCall } from "./edit.ts";
import { CallPreview } from "./call_preview.ts";
import { ErrorBox } from "./exchange.ts";
import { foreignLinks, useLabels } from "./labels.ts";
import { guarded, profileHeader, readCall, relationshipsOf, verbsOf } from "./model.ts";
import { hrefOf } from "./route.ts";
import { useRowTag, useSending } from "./row_form.ts";
import { Dialog, html, Icon, type View } from "./view.ts";

interface RowPanelProps {
  readonly relation: ConsoleRelation;
  readonly row: GridRow;
  readonly onClose: () => void;
  readonly onEdit: () => void;
  readonly onDeleted: () => void;
}

/** The panel: links to rows that refer to this one, and all values. */
export function RowPanel({ relation, row, onClose, onEdit, onDeleted }: RowPanelProps): View {
  const [isDeleting, setDeleting] = useState(false);
  const children = relationshipsOf(relation).filter(isReverse);
  const verbs = verbsOf(relation);
  const isKeyed = hasKey(relation, row);
  return html`
    <${Dialog} title=${rowTitle(relation, row)} onClose=${onClose} kind="drawer">
      ${children.length > 0 && html`
        <ul class="row" aria-label="Related rows">${children.map((relationship) =>
          html`
            <li key=${relationship.hint}>
              <${RelatedChip} ...${{ ...relationship, row }} />
            </li>
          `
        )}</ul>
      `}
      <${Values} ...${{ relation, row }} />
      <div class="row actions">
        ${isKeyed && verbs.delete && html`
          <button type="button" class="bad"
            onClick=${() => setDeleting(true)}><${Icon} name="trash" />Delete…</button>
        `}
        ${isKeyed && verbs.update && html`
          <button type="button" class="button is-primary"
            onClick=${onEdit}><${Icon} name="edit" />Edit</button>
        `}
      </div>
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

function rowTitle({ name, primaryKey }: ConsoleRelation, row: GridRow): string {
  const key = primaryKey.map((column) => cellText(row[column])).join(", ");
  return key === "" ? name : `${name} ${key}`;
}

function Values({ relation, row }: Pick<RowPanelProps, "relation" | "row">): View {
  const links = foreignLinks(relationshipsOf(relation), row);
  const rows = useMemo(() => [row], [row]);
  const labels = useLabels(relation, rows);
  return html`
    <dl class="stack">
      ${Object.entries(row).map(([name, value]) => {
        const column = relation.columns.find((each) => each.name === name);
        const link = links.get(name);
        const label = labels.get(name)?.get(String(value));
        return html`
          <div key=${name}>
            <dt>${name} <small>${column?.type ?? ""}</small></dt>
            <dd class="row between"><span class=${value === null ? "muted" : "lines"}>${valueText(
              value,
              column?.baseType,
            )}</span>${link !== undefined && html`<a class="button" href=${link.href}>
              <${Icon} name="link" />${label ?? `Open ${link.name}`}</a>`}</dd>
          </div>
        `;
      })}
    </dl>
  `;
}

/** A link to the rows that refer to this one, with their number. */
function RelatedChip(
  { foreign: [schema, name], pairs, row }: ConsoleRelationship & { readonly row: GridRow },
): View {
  const [count, setCount] = useState("…");
  const query = filtersText(pairs.map(([column, other]) => [other, row[column]]));
  useEffect(() => {
    void guarded(async () => {
      const options = { method: "HEAD", headers: [["Prefer", "count=exact"]] } as const;
      const call = readCall({ schema, name }, `${query}&limit=1`, options);
      const { headers } = await callApi(call);
      setCount(headers.get("Content-Range")?.split("/")[1] ?? "?");
    });
  }, [name, query]);
  return html`
    <a class="tag" href=${hrefOf({ page: "table", schema, name, query })}>${count} ${name}${" "}
      <small>by ${pairs.map(([, column]) => column).join(", ")}</small></a>
  `;
}

function DeleteDialog(
  { relation, row, onClose, onDeleted }: Omit<RowPanelProps, "onEdit">,
): View {
  const { error, isBusy, send } = useSending(onDeleted);
  const profile = profileHeader(relation.schema, "DELETE");
  const { tag, isKnown } = useRowTag(relation, row);
  const call = writeCall(relation, { row, changes: null, profile, tag });
  return html`
    <${Dialog} title=${`Delete ${rowTitle(relation, row)}?`} onClose=${onClose}>
      <div class="stack">
        <p>The row is deleted for good.</p>
        <pre tabindex="0" aria-label="Row">${JSON.stringify(row, null, 2)}</pre>
        <${CallPreview} call=${call} />
        ${error !== null && html`<${ErrorBox} error=${error} call=${call} />`}
        <div class="row actions">
          <button type="button" onClick=${onClose}>Keep the row</button>
          <button type="button" class="bad" disabled=${!isKnown ||
            isBusy} onClick=${() => send(call)}>Delete</button>
        </div>
      </div>
      <//>
  `;
}
