/// <reference lib="dom" />
/** The page that the URL's fragment addresses. The fragment never contains a token. @module */
import { percentDecode } from "../../../base/http/percent.ts";
import { signal } from "@preact/signals";

const pages = [
  "start",
  "table",
  "function",
  "reference",
  "sql",
  "diagram",
  "requests",
  "access",
  "health",
] as const;

export const tableViews = ["rows", "chart", "plan"] as const;

export type TableView = typeof tableViews[number];

/** A page with its parameters. Unused texts are empty. */
export interface PageRoute {
  readonly page: typeof pages[number];
  readonly schema: string;
  /** Name of a table or function. */
  readonly name: string;
  readonly view: TableView;
  /** Query string for the API, or the arguments of a function in that form. */
  readonly query: string;
}

/** A page to open. Default: the rows of a table, without a query. */
export type PageTarget = Pick<PageRoute, "page"> & Partial<PageRoute>;

/** Returns the fragment of a page: `#/table/api/film?length=gt.100`. */
export function hrefOf(
  { page, schema = "", name = "", view = "rows", query = "" }: PageTarget,
): string {
  const parts = [page, schema, name, view === "rows" ? "" : view].filter((part) => part !== "");
  const path = parts.map((part) => encodeURIComponent(part)).join("/");
  return `#/${path}${query === "" ? "" : `?${query}`}`;
}

/** Returns the page of a fragment; the start page for unknown paths. */
export function routeOf(hash: string): PageRoute {
  const [path = "", ...rest] = hash.replace(/^#\/?/, "").split("?");
  const [first, schema = "", name = "", last] = path.split("/").map((part) =>
    percentDecode(part, "replace")
  );
  return {
    page: pages.find((each) => each === first) ?? "start",
    schema,
    name,
    view: tableViews.find((each) => each === last) ?? "rows",
    query: rest.join("?"),
  };
}

export const route = signal<PageRoute>(routeOf(location.hash));

/** Opens a page. `replace` replaces the current entry of the history. */
export function navigate(
  next: PageTarget,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const href = hrefOf(next);
  if (href === location.hash) return;
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  route.value = routeOf(href);
}

addEventListener("hashchange", () => route.value = routeOf(location.hash));
addEventListener("popstate", () => route.value = routeOf(location.hash));
