/// <reference lib="dom" />
/** The page of a table: rows, filters, edits, and the request. @module */
import { queryName } from "../../../api/request/url/filter_param.ts";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ConsoleColumn, ConsoleRelation } from "../server/console_schema.ts";
import { rowsOf } from "./api.ts";
import { csvText } from "./cells.ts";
import type { ApiCall } from "./code.ts";
import { CodePanel, codeShown } from "./code_panel.ts";
import { type GridRow, hasKey } from "./edit.ts";
import { ErrorBox, Why } from "./exchange.ts";
import { FilterBar } from "./filter_bar.ts";
import {
  firstPage,
  formatQuery,
  inKeyOrder,
  isComplete,
  parseQuery,
  type TableQuery,
} from "./filters.ts";
import { Grid } from "./grid.ts";
import { readCall, relationOf, serviceState, verbsOf } from "./model.ts";
import { linksOf, type LoadedRows, Pager, type RowCount } from "./pager.ts";
import { memorable, remember } from "./recent.ts";
import { navigate, type PageRoute, route } from "./route.ts";
import { useAnswer } from "./loading.ts";
import { ViewAs } from "./identity.ts";
import { useLabels } from "./labels.ts";
import type { RowFormTarget } from "./row_form.ts";
import { Toolbar } from "./toolbar.ts";
import { Empty, emptyPage, html, lazy, saveFile, type View } from "./view.ts";

/** Parts that are loaded when first shown. */
const RowForm = lazy(async () => (await import("./row_form.ts")).RowForm as never);
const RowPanel = lazy(async () => (await import("./row_panel.ts")).RowPanel as never);
const Notice = lazy(async () => (await import("./notice.ts")).Notice as never);
const ChartView = lazy(async () => (await import("./chart_view.ts")).ChartView as never);
const PlanView = lazy(async () => (await import("./plan_view.ts")).PlanView as never);

/** The page. The route's query is the query of the API request. */
export function TablePage(): View {
  const { schema, name } = route.value;
  const relation = relationOf(schema, name);
  if (relation === null) return emptyPage(name, `The schema ${schema} has no table of this name`);
  return html`<${RelationPage} ...${{ relation }} route=${route.value} />`;
}

interface RelationPageProps {
  readonly relation: ConsoleRelation;
  readonly route: PageRoute;
}

function RelationPage({ relation, route }: RelationPageProps): View {
  const { query, start, setQuery } = useQuery(relation, route);
  const [countKind, setCountKind] = useState<"planned" | "exact">("planned");
  const [refresh, setRefresh] = useState(0);
  const call = rowsCall(relation, query, countKind);
  const rows = useRows(call, [refresh]);
  const { loaded, error, isBusy } = rows;
  const address = memorable(route, formatQuery(query));
  useEffect(() => {
    if (loaded !== null && address !== null) remember(address);
  }, [loaded === null, address]);
  const reload = () => setRefresh((count) => count + 1);
  const { dialog, notice, edit, open } = useRowDialog(relation, reload);
  const pageRows = loaded?.rows ?? noRows;
  const columns = useMemo(() => columnsOf(relation, query, pageRows), [relation, query, loaded]);
  const isKeyed = relation.primaryKey.length > 0 ||
    !verbsOf({ ...relation, primaryKey: ["?"] }).update;
  const save = () =>
    saveFile(`${relation.name}.csv`, new Blob([csvText(pageRows, columns)], { type: "text/csv" }));
  return html`
    <div class="table-page">
      ${relationHead(relation)}
      <${Toolbar} ...${{ relation, query }} onQuery=${setQuery}
        view=${route.view} routeQuery=${route.query}
        onRefresh=${reload} onInsert=${() => edit({ relation, row: null })} />
      <${FilterBar} ...${{ relation, query }} onQuery=${setQuery} />
      ${notice}
      <div class=${`split ${codeShown.value ? "has-code" : ""}`}>
        <div class=${`split-main ${isBusy ? "is-busy" : ""}`}>
          ${error !== null && html`<${ErrorBox} error=${error} call=${call} />`}
          <${RowsView} ...${{ relation, query, route, call, columns, rows, setQuery }}
            onOpen=${open} onForm=${edit} />
          ${route.view === "rows" && (error === null || query.offset > 0) && html`
            <${Pager} ...${{ query, loaded }} onQuery=${setQuery}
              start=${start} onCount=${() => setCountKind("exact")} onSave=${save} />
          `}
          ${!isKeyed &&
            html`<p class="hint">Rows cannot be changed here, since the table has no primary key.</p>`}
        </div>
        ${codeShown.value && html`
          <${CodePanel} call=${call}
            onQuery=${(text: string) => setQuery(parseQuery(text))} />
        `}
      </div>
    </div>
    ${dialog}
  `;
}

/** Returns the query of a route, the number of rows before its page, and a function to open a query. */
function useQuery(relation: ConsoleRelation, route: PageRoute) {
  const query = useMemo(() => inKeyOrder(parseQuery(route.query), relation.primaryKey), [
    route.query,
  ]);
  const starts = useRef(new Map<string, number>());
  const setQuery = (next: TableQuery, start: number | null = null) => {
    const text = formatQuery(next);
    if (start !== null) starts.current.set(text, start);
    navigate({ ...route, query: text });
  };
  useEffect(() => {
    const isSame = formatQuery(parseQuery(route.query)) === formatQuery(query);
    if (!isSame) navigate({ ...route, query: formatQuery(query) }, { replace: true });
  }, [query]);
  return { query, start: startOf(query, starts.current), setQuery };
}

/** Returns the dialog of a row, and functions that open it as a form or a panel. */
function useRowDialog(relation: ConsoleRelation, onChanged: () => void) {
  const [dialog, setDialog] = useState<View>(null);
  const [notice, setNotice] = useState<View>(null);
  useEffect(() => setNotice(null), [relation]);
  const onClose = () => setDialog(null);
  const close = (verb: string, rows: readonly GridRow[]) => {
    onClose();
    setNotice(html`<${Notice} ...${{ relation, verb, rows }} />`);
    onChanged();
  };
  const edit = (target: RowFormTarget) => {
    const onSaved = (rows: readonly GridRow[]) =>
      close(target.row === null ? "Inserted" : "Saved", rows);
    setDialog(html`<${RowForm} ...${{ ...target, onClose, onSaved }} />`);
  };
  const open = (row: GridRow) =>
    setDialog(html`
      <${RowPanel} ...${{ relation, row, onClose }} onDeleted=${() => close("Deleted", [row])}
        onEdit=${() => edit({ relation, row })} />
    `);
  return { dialog, notice, edit, open };
}

function relationHead({ name, isView, comment }: ConsoleRelation): View {
  return html`
    <header class="row between">
      <div>
        <h1 class="row">${name}${isView && html`<span class="tag muted">view</span>`}</h1>
        ${comment !== null && html`<p class="muted">${comment}</p>`}
      </div>
      <${ViewAs} />
    </header>
  `;
}

interface RowsViewProps extends RelationPageProps {
  readonly query: TableQuery;
  readonly call: ApiCall;
  readonly columns: readonly string[];
  readonly rows: ReturnType<typeof useRows>;
  readonly setQuery: (query: TableQuery) => void;
  readonly onOpen: (row: GridRow) => void;
  readonly onForm: (form: RowFormTarget) => void;
}

/** The rows as a grid or a chart, or their plan. */
function RowsView(props: RowsViewProps): View {
  const { relation, query, route, call, columns, setQuery, onOpen, onForm } = props;
  const { loaded, error, isBusy } = props.rows;
  const labels = useLabels(relation, loaded?.rows ?? null);
  if (route.view === "plan") return html`<${PlanView} ...${{ call }} />`;
  if (route.view === "chart") {
    return html`
      <${ChartView} ...${{ relation, query }} rows=${isBusy ? null : loaded?.rows ?? null}
        onQuery=${(next: TableQuery) =>
          navigate({ ...route, query: formatQuery(next) }, { replace: true })} />
    `;
  }
  if (loaded === null) return error === null && html`<p class="loading">Loading…</p>`;
  if (loaded.rows.length === 0) return noRowsView(query, call);
  const canEdit = verbsOf(relation).update && loaded.rows.every((row) => hasKey(relation, row));
  const edit = (row: GridRow, only: ConsoleColumn) => onForm({ relation, row, only });
  const sort = (column: string, { adds }: { readonly adds: boolean }) =>
    setQuery({ ...firstPage(query), order: nextOrder(query, column, adds) });
  return html`
    <${Grid} ...${{ relation, columns, labels, onOpen }} rows=${loaded.rows} order=${query.order}
      label=${relation.name} onSort=${sort} onEdit=${canEdit ? edit : undefined} />
  `;
}

function noRowsView({ filters, others }: TableQuery, call: ApiCall): View {
  return html`
    <${Empty} title="No rows">
      <p>${filters.length + others.length > 0
        ? "No row fits the filters, or a policy hides them from the role and its claims."
        : "The table is empty, or a policy hides its rows from the role and its claims."}</p>
      ${serviceState.value?.features.signIn === true && html`<p>If policies read claims, set them by
        the button with the role's name, for example <code>{"sub": "1"}</code>.</p>`}
      <${Why} call=${call} />
      <//>
  `;
}

/** Returns the request of a page. A filter without a value is left out. */
function rowsCall(relation: ConsoleRelation, query: TableQuery, count: string): ApiCall {
  const filters = query.filters.filter((filter) => {
    const column = relation.columns.find(({ name }) => name === filter.column);
    return column === undefined || isComplete(filter, column);
  });
  return readCall(relation, formatQuery({ ...query, filters }), {
    headers: [["Prefer", `count=${count}`]],
  });
}

function useRows(call: ApiCall, deps: readonly unknown[]) {
  const { loaded, isBusy } = useAnswer(call, deps);
  const rows = useMemo((): LoadedRows | null => {
    const answer = loaded?.answer ?? null;
    if (answer === null) return null;
    const rows = rowsOf(answer);
    return {
      rows,
      count: countOf(answer.headers.get("Content-Range"), JSON.parse(loaded!.key), rows.length),
      links: linksOf(answer.headers.get("Link")),
      ms: answer.ms,
    };
  }, [loaded]);
  return { loaded: rows, error: loaded?.error ?? null, isBusy };
}

const noRows: readonly GridRow[] = [];

/** Returns the number of rows before a page; null for an unknown cursor. */
function startOf(query: TableQuery, starts: ReadonlyMap<string, number>): number | null {
  if (query.position === null) return query.offset;
  return query.position.join() === "after," ? 0 : starts.get(formatQuery(query)) ?? null;
}

/** Returns the number of all rows. It is exact if the page is not full, because no rows follow. */
function countOf(
  range: string | null,
  { headers, query }: ApiCall,
  rows: number,
): RowCount | null {
  const { limit, offset, position } = parseQuery(query);
  const isFirst = position === null || position.join() === "after,";
  if (isFirst && rows > 0 && rows < limit) return { total: offset + rows, isExact: true };
  const total = range?.split("/")[1];
  if (total === undefined || total === "*") return null;
  const isExact = headers.some(([, value]) => value === "count=exact");
  return { total: Number(total), isExact };
}

/** Returns the columns to show: the columns of the rows, or of the table if there are no rows. */
function columnsOf(
  relation: ConsoleRelation,
  { select }: TableQuery,
  rows: readonly GridRow[],
): readonly string[] {
  if (rows.length > 0) return Object.keys(rows[0]!);
  const names = relation.columns.map(({ name }) => name);
  return select === null ? names : names.filter((name) => select.includes(queryName(name)));
}

function nextOrder({ order }: TableQuery, column: string, adds: boolean): TableQuery["order"] {
  const current = order.find((term) => term.column === column);
  const others = adds ? order.filter((term) => term.column !== column) : [];
  if (current === undefined) return [...others, { column, descending: false }];
  return current.descending ? others : [...others, { column, descending: true }];
}
