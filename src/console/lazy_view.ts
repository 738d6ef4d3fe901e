/// <reference lib="dom" />
/**
 * Views of a table that are loaded when they are first shown.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import type { ConsoleRelation } from "../admin/console_data.ts";
import type { ApiCall } from "./code.ts";
import type { GridRow } from "./edit.ts";
import { html, type View } from "./view.ts";

/** Input of the views. */
export interface TableViewProps {
  /** Request of the rows. */
  readonly call: ApiCall;
  readonly columns: readonly string[];
  readonly relation: ConsoleRelation;
  readonly rows: readonly GridRow[];
}

type LazyName = "chart" | "plan";

const loaders: Readonly<Record<LazyName, () => Promise<FunctionComponent<TableViewProps>>>> = {
  chart: async () =>
    (await import("./chart_view.ts")).ChartView as FunctionComponent<TableViewProps>,
  plan: async () => (await import("./plan_view.ts")).PlanView as FunctionComponent<TableViewProps>,
};

const views = signal<Readonly<Partial<Record<LazyName, FunctionComponent<TableViewProps>>>>>({});

/** The chart or the plan. */
export function LazyView({ view, ...props }: TableViewProps & { readonly view: LazyName }): View {
  const component = views.value[view];
  useEffect(() => {
    if (component !== undefined) return;
    void loaders[view]().then((each) => views.value = { ...views.value, [view]: each });
  }, [view]);
  return component === undefined
    ? html`<p class="loading">Loading…</p>`
    : html`<${component} ...${props} />`;
}
