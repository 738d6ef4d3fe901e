/// <reference lib="dom" />
/** The page of SQL: a read-only query with the role of the token. @module */
import { signal } from "@preact/signals";
import { useMemo, useState } from "preact/hooks";
import type { SqlAnswer } from "../server/console_sql.ts";
import { AdminTokenNeeded, numbersOf, readConsole, rowsOfText } from "./api.ts";
import { csvText } from "./cells.ts";
import type { GridRow } from "./edit.ts";
import type { SortTerm } from "./filters.ts";
import { Grid } from "./grid.ts";
import { ViewAs } from "./identity.ts";
import { needsAdminToken, serviceState } from "./model.ts";
import { type ExplainedPlan, planRoot } from "./plan_tree.ts";
import { PlanTree } from "./plan_view.ts";
import { token } from "./session.ts";
import {
  durationText,
  Empty,
  emptyPage,
  grouped,
  html,
  saveFile,
  type View,
  withText,
} from "./view.ts";
import { errorMessage } from "../../../base/errors/error_message.ts";

const storageKey = "svc-sql";

/** The SQL text, which is kept until the tab is closed. */
const sql = signal(sessionStorage.getItem(storageKey) ?? "select 1 as one");

/** A response, which is parsed once. */
type Shown =
  | Omit<SqlAnswer, "text"> & {
    readonly kind: "rows";
    readonly rows: readonly GridRow[];
    readonly numbers: readonly string[];
  }
  | { readonly kind: "plan"; readonly plan: ExplainedPlan };

export function SqlPage(): View {
  const [shown, setShown] = useState<Shown | null>(null);
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  if (serviceState.value?.features.signIn !== true) {
    return emptyPage(
      "SQL",
      "SQL is off",
      html`<p>Set <code>admin-sign-in</code>${" "}and
        <code>jwt-secret</code>, on a machine whose users may take every role.</p>`,
    );
  }
  const run = async (kind: Shown["kind"]) => {
    sessionStorage.setItem(storageKey, sql.value);
    setBusy(true);
    setError(null);
    try {
      const body = { sql: sql.value, isExplained: kind === "plan", token: token.value };
      setShown(shownOf(kind, await readConsole<SqlAnswer>("sql", body)));
    } catch (thrown) {
      if (thrown instanceof AdminTokenNeeded) needsAdminToken.value = true;
      setError(errorMessage(thrown));
      setShown(null);
    }
    setBusy(false);
  };
  return html`
    <div class="table-page">
      <header class="row between"><div><h1>SQL</h1>
        <p class="muted">A query that reads, with the role and the claims of the token</p></div>
        <${ViewAs} /></header>
      <${SqlForm} ...${{ shown, isBusy, run }} />
      ${error !== null && html`<p class="alert lines" role="alert">${error}</p>`}
      ${shown?.kind === "rows" && html`<${Rows} ...${shown} />`}
      ${shown?.kind === "plan" && html`
        <div class="scroll bar">
          <${PlanTree} ...${shown.plan} />
        </div>
      `}
    </div>
  `;
}

interface SqlFormProps {
  readonly shown: Shown | null;
  readonly isBusy: boolean;
  readonly run: (kind: Shown["kind"]) => Promise<void>;
}

function SqlForm({ shown, isBusy, run }: SqlFormProps): View {
  const onSubmit = (event: Event) => {
    event.preventDefault();
    void run("rows");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void run("rows");
  };
  return html`
    <form class="stack bar" onSubmit=${onSubmit}>
      <textarea class="mono" rows="6" aria-label="SQL" spellcheck="false" ref=${takeFocus}
        value=${sql.value} onKeyDown=${onKeyDown} onInput=${withText((text) =>
          sql.value = text
        )}></textarea>
      <div class="row">
        <button type="submit" class="button is-primary" disabled=${isBusy}>Run</button>
        <kbd class="hide-narrow">Ctrl Enter</kbd>
        <button type="button" disabled=${isBusy} onClick=${() => void run("plan")}>Explain</button>
        <span class="spacer"></span>
        ${shown?.kind === "rows" && html`<p role="status" class="muted">${countText(shown)}</p>`}
      </div>
    </form>
  `;
}

/** Focuses an element once: Preact calls the same function only when it creates the element. */
function takeFocus(element: HTMLElement | null): void {
  element?.focus();
}

/** Returns the parsed response. A truncated response has one more row than is shown, which is left out. */
function shownOf(kind: Shown["kind"], { text, ms, isCut }: SqlAnswer): Shown {
  if (kind === "plan") return { kind, plan: planRoot(text)! };
  const rows = rowsOfText(text);
  return { kind, ms, isCut, numbers: numbersOf(text), rows: isCut ? rows.slice(0, -1) : rows };
}

function countText({ rows: { length }, ms, isCut }: Extract<Shown, { kind: "rows" }>): string {
  const rows = `${grouped(length)} ${length === 1 ? "row" : "rows"}`;
  return `${isCut ? `The first ${rows}` : rows} · ${durationText(ms)}`;
}

const noOrder: readonly SortTerm[] = [];

function Rows({ rows, numbers }: Extract<Shown, { kind: "rows" }>): View {
  // The list is cached. A new list for each typed letter would draw the grid again.
  const columns = useMemo(() => Object.keys(rows[0] ?? {}), [rows]);
  if (rows.length === 0) return html`<${Empty} title="No rows" />`;
  const save = () =>
    saveFile("query.csv", new Blob([csvText(rows, columns)], { type: "text/csv" }));
  return html`
    <div class="split split-main">
      <${Grid} relation=${null} ...${{ rows, columns, numbers }} order=${noOrder} label="Result" />
    </div>
    <footer class="row bar"><span class="spacer"></span>
      <button type="button" onClick=${save}>CSV</button></footer>
  `;
}
