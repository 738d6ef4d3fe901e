/// <reference lib="dom" />
/** The page of access: each role's actions on each relation and function of a schema. @module */
import { useEffect, useState } from "preact/hooks";
import { markOf, maxListed, mayText } from "../access/cell_text.ts";
import type { AccessCell, AccessMatrix } from "../access/cells.ts";
import { printable } from "../lib/printable.ts";
import { readConsole } from "./api.ts";
import { guarded, schemaName } from "./model.ts";
import { CopyButton, Dialog, html, type View } from "./view.ts";

/** The matrix of a schema. */
export function AccessPage(): View {
  const schema = schemaName.value;
  const [{ roles, cells }, setMatrix] = useState<AccessMatrix>({ roles: [], cells: [] });
  const [open, setOpen] = useState<readonly AccessCell[]>([]);
  useEffect(() => {
    const path = `access?schema=${encodeURIComponent(schema)}`;
    void guarded(async () => setMatrix(await readConsole<AccessMatrix>(path)));
  }, [schema]);
  const [first] = open;
  const isCut = roles.length > 0 &&
    ["select", "execute"].some((word) =>
      cells.filter(({ action }) => action === word).length >= maxListed * roles.length
    );
  const rowView = ([relation, row]: readonly [string, readonly AccessCell[]]) =>
    html`<tr key=${relation}><th scope="row">${nameOf(relation)}</th>${
      roles.map(([, role]) => {
        const own = row.filter((cell) => cell.role === role);
        return html`<td key=${role}><button type="button" class="marks"
          onClick=${() => setOpen(own)}>${own.map(markView)}</button></td>`;
      })
    }</tr>`;
  return html`
    <div class="page">
      <header class="page-head"><div><h1>Access</h1>
        <p class="lead">The actions of each role in the schema ${schema}. Press one for its reasons.</p>
      </div></header>
      <p class="hint">Capital: all rows. Small: rows by policies. 0: no policy allows one. *: some columns.
        !: past policies of a table below the view. –: refused.</p>
      ${isCut && html`<p class="hint">Shown are the first ${maxListed} relations and functions each:
        <code>svc access</code> prints all.</p>`}
      ${roles.length === 0 ? html`<p class="loading">Reading…</p>` : html`
        <div class="table-wrap">
          <table class="plain-table access" aria-label="Access">
            <thead>
              <tr>${["Name", ...roles.map(([, role]) => printable(role))].map((name) =>
                html`<th scope="col" key=${name}>${name}</th>`
              )}</tr>
            </thead>
            <tbody>${Array.from(Map.groupBy(cells, (cell) => cell.relation), rowView)}</tbody>
          </table>
        </div>
      `}
      ${first !== undefined && html`
        <${Dialog} title=${`${printable(first.role)}: ${nameOf(first.relation)}`}
          onClose=${() => setOpen([])}>
          <div class="stack">
            ${open.map((cell) => html`<${Reasons} key=${cell.action} cell=${cell} />`)}
          </div>
          <//>
      `}
    </div>
  `;
}

/** Returns a name that is quoted for SQL, without its schema. */
function nameOf(relation: string): string {
  return printable(relation.replace(/^(?:"(?:[^"]|"")*"|[^.]+)\./, ""));
}

function markView(cell: AccessCell): View {
  const kind = cell.past.length > 0 ? "past" : cell.may;
  return html`
    <span class=${`mark is-${kind}`} aria-hidden="true">${markOf(cell)}</span>
    <span class="sr-only">${cell.action} ${kind},</span>
  `;
}

function Reasons({ cell }: { readonly cell: AccessCell }): View {
  const { action, may, reason, policies, past, sql } = cell;
  return html`<section><h3>${action}</h3>
    <p>${may === "no" || past.length > 0 ? reason : mayText(cell)}</p>
    ${
    policies.map(({ name, permissive, using, check }) =>
      html`
        <pre class="sql" tabindex="0" key=${name}>${[
          printable(name) + (permissive ? "" : " (restrictive)"),
          ...(using === null ? [] : [`using ${using}`]),
          ...(check === null ? [] : [`with check ${check}`]),
        ].join("\n  ")}</pre>
      `
    )
  }
    ${
    sql !== null && html`
      <pre class="sql" tabindex="0">${sql}</pre>
      <div class="actions">
        <${CopyButton} label="Copy SQL" text=${() => sql} />
      </div>
    `
  }
  </section>`;
}
