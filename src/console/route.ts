/// <reference lib="dom" />
/** The page that the URL's fragment names. The fragment never contains a token. @module */
import { signal } from "@preact/signals";
import { decode } from "./filters.ts";

/** Views of a table. */
export const tableViews = ["rows", "chart", "plan"] as const;

export type TableView = typeof tableViews[number];

/** A page with its parameters. */
export type PageRoute =
  | {
    readonly page: "table";
    readonly schema: string;
    readonly name: string;
    readonly view: TableView;
    /** Query string of the API. */
    readonly query: string;
  }
  | {
    readonly page: "function";
    readonly schema: string;
    readonly name: string;
    /** Arguments and parameters as a query string. */
    readonly query: string;
  }
  | { readonly page: "reference"; readonly schema: string; readonly name: string | null }
  | { readonly page: "diagram"; readonly schema: string; readonly name: string | null }
  | { readonly page: "start"; readonly schema: string }
  | { readonly page: "access" | "requests" | "health" };

/** Returns the fragment of a route: `#/table/api/film?length=gt.100`. */
export function hrefOf(route: PageRoute): string {
  const part = encodeURIComponent;
  switch (route.page) {
    case "table": {
      const view = route.view === "rows" ? "" : `/${route.view}`;
      const query = route.query === "" ? "" : `?${route.query}`;
      return `#/table/${part(route.schema)}/${part(route.name)}${view}${query}`;
    }
    case "function": {
      const query = route.query === "" ? "" : `?${route.query}`;
      return `#/function/${part(route.schema)}/${part(route.name)}${query}`;
    }
    case "reference":
    case "diagram": {
      const name = route.name === null ? "" : `/${part(route.name)}`;
      return `#/${route.page}/${part(route.schema)}${name}`;
    }
    case "start":
      return route.schema === "" ? "#/start" : `#/start/${part(route.schema)}`;
    default:
      return `#/${route.page}`;
  }
}

/** Returns the route of a fragment. */
export function routeOf(hash: string): PageRoute {
  const [path = "", ...rest] = hash.replace(/^#\/?/, "").split("?");
  const query = rest.join("?");
  const [page, schema, name, view] = path.split("/").map(decode);
  const isNamed = schema !== undefined && schema !== "";
  if (page === "table" && isNamed && name !== undefined) {
    const known = tableViews.find((each) => each === view) ?? "rows";
    return { page, schema, name, view: known, query };
  }
  if (page === "function" && isNamed && name !== undefined) return { page, schema, name, query };
  if ((page === "reference" || page === "diagram") && isNamed) {
    return { page, schema, name: name ?? null };
  }
  if (page === "access" || page === "requests" || page === "health") return { page };
  return { page: "start", schema: page === "start" && isNamed ? schema : "" };
}

/** The current page. */
export const route = signal<PageRoute>(routeOf(location.hash));

/** Opens a page. `replace` leaves no entry in the history. */
export function navigate(
  next: PageRoute,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const href = hrefOf(next);
  if (href === location.hash) return;
  if (replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  route.value = next;
}

addEventListener("hashchange", () => route.value = routeOf(location.hash));
addEventListener("popstate", () => route.value = routeOf(location.hash));
