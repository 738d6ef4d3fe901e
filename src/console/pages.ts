/// <reference lib="dom" />
/**
 * The page of the current route. Pages beside the table are loaded when they are first opened.
 *
 * @module
 */
import { signal } from "@preact/signals";
import type { FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";
import { type PageRoute, route } from "./route.ts";
import { StartPage } from "./start_page.ts";
import { TablePage } from "./table_page.ts";
import { html, type View } from "./view.ts";

type PageComponent = FunctionComponent<Record<string, never>>;

/** Modules of pages that are loaded on first use. */
const modules: Readonly<Partial<Record<PageRoute["page"], () => Promise<PageComponent>>>> = {
  function: async () => (await import("./function_page.ts")).FunctionPage as PageComponent,
  reference: async () => (await import("./reference_page.ts")).ReferencePage as PageComponent,
  requests: async () => (await import("./requests_page.ts")).RequestsPage as PageComponent,
  diagram: async () => (await import("./diagram_page.ts")).DiagramPage as PageComponent,
  health: async () => (await import("./health_page.ts")).HealthPage as PageComponent,
};

const loaded = signal<Readonly<Partial<Record<PageRoute["page"], PageComponent>>>>({});
const loadError = signal<string | null>(null);

/** The page of the current route. */
export function Page(): View {
  const current = route.value;
  const { page } = current;
  useEffect(() => {
    const load = modules[page];
    if (load === undefined || loaded.value[page] !== undefined) return;
    load().then(
      (component) => loaded.value = { ...loaded.value, [page]: component },
      () => loadError.value = "The page could not be loaded; reload the console.",
    );
  }, [page]);
  if (current.page === "table") {
    return html`<${TablePage} key=${`${current.schema}.${current.name}`} ...${current} />`;
  }
  if (page === "start") return html`<${StartPage} />`;
  const component = loaded.value[page];
  if (component !== undefined) {
    const key = "name" in current ? `${current.schema}.${current.name}` : page;
    return html`<${component} key=${key} />`;
  }
  return html`<p class="loading" role="status">${loadError.value ?? "Loading…"}</p>`;
}
