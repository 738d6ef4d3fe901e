/// <reference lib="dom" />
/** The page of access: what each role may do with each relation and function of a schema. @module */
import { useState } from "preact/hooks";
import { markOf, maxListed, mayText } from "../../audit/access/cell_text.ts";
import type { AccessCell, AccessMatrix } from "../../audit/access/cells.ts";
import { printable } from "../../../base/lib/printable.ts";
import { useConsole } from "./loading.ts";
import { schemaName } from "./model.ts";
import { DataTable, Dialog, html, SqlText, type View } from "./view.ts";

export function AccessPage(): View {
  const schema = schemaName.value;
  const matrix = useConsole<AccessMatrix>(`access?schema=${encodeURIComponent(schema)}`);
  const { roles, cells } = matrix ?? { roles: [], cells: [] };
  const [open, setOpen] = useState<readonly AccessCell[]>([]);
  const [first] = open;
  const isCut = roles.length > 0 &&
    ["select", "execute"].some((word) =>
      cells.filter(({ action }) => action === word).length >= maxListed * roles.length
    );
  const rows = Array.from(Map.groupBy(cells, (cell) => cell.relation), ([relation, row]) => [
    html`<strong>${nameOf(relation)}</strong>`,
    ...roles.map(([, role]) => {
      const cells = row.filter((cell) => cell.role === role);
      return html`<button type="button" onClick=${() => setOpen(cells)}>${
        cells.map(markView)
      }</button>`;
    }),
  ]);
  return html`
    <div class="page">
      <header><h1>Access</h1>
        <p class="muted">The actions of each role in the schema ${schema}. Press one for its reasons.</p>
      </header>
      <p class="hint">S, I, U, D: select, insert, update, delete. X: execute. Capital: all rows. Small: rows by policies. 0: no policy allows one. *: some columns.
        !: past policies of a table below the view. –: refused.</p>
      ${isCut && html`<p class="hint">Shown are the first ${maxListed} relations and functions each:
        <code>svc access</code> prints all.</p>`}
      ${roles.length === 0 ? html`<p class="loading">Reading…</p>` : html`
        <${DataTable} label="Access" rows=${rows}
          head=${["Name", ...roles.map(([, role]) => printable(role))]} />
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

/** Returns the name of a relation, quoted for SQL, without its schema. */
function nameOf(relation: string): string {
  return printable(relation.replace(/^(?:"(?:[^"]|"")*"|[^.]+)\./, ""));
}

function markView(cell: AccessCell): View {
  const kind = cell.past.length > 0 ? "past" : cell.may;
  const color = { all: "good", rows: "", none: "warn", past: "bad", no: "muted" }[kind];
  return html`
    <span class=${`mark ${color}`} aria-hidden="true">${markOf(cell)}</span>
    <span class="sr-only">${cell.action} ${kind},</span>
  `;
}

function Reasons({ cell }: { readonly cell: AccessCell }): View {
  const { action, may, reason, policies, past, sql } = cell;
  const policyText = ({ name, permissive, using, check }: AccessCell["policies"][number]) =>
    [
      printable(name) + (permissive ? "" : " (restrictive)"),
      ...(using === null ? [] : [`using ${using}`]),
      ...(check === null ? [] : [`with check ${check}`]),
    ].join("\n  ");
  return html`
    <section>
      <h3>${action}</h3>
      <p>${may === "no" || past.length > 0 ? reason : mayText(cell)}</p>
      ${policies.map((each) => html`<pre tabindex="0" key=${each.name}>${policyText(each)}</pre>`)}
      ${sql !== null && html`<${SqlText} ...${{ sql }} />`}
    </section>
  `;
}
