/** Links of the sidebar and the search: pages, relations and functions. @module */
import { functionsOf, may, relationsOf } from "./model.ts";
import type { PageTarget } from "./route.ts";
import type { IconName } from "./view.ts";

export interface PageLink {
  readonly icon: IconName;
  readonly label: string;
  readonly to: PageTarget;
  /** Whether the role has no access. Default: false. */
  readonly isDim?: boolean;
}

export function pageLinks(schema: string): readonly PageLink[] {
  return [
    { icon: "diagram", label: "Diagram", to: { page: "diagram", schema } },
    { icon: "book", label: "Reference", to: { page: "reference", schema } },
    { icon: "code", label: "SQL", to: { page: "sql", schema } },
    { icon: "pulse", label: "Requests", to: { page: "requests", schema } },
    { icon: "key", label: "Access", to: { page: "access", schema } },
    { icon: "heart", label: "Health", to: { page: "health", schema } },
  ];
}

export function relationLinks(schema: string): readonly PageLink[] {
  return relationsOf(schema).map(({ name, isView }) => ({
    icon: isView ? "view" : "table",
    label: name,
    isDim: !may("get", `/${name}`),
    to: { page: "table", schema, name },
  }));
}

export function functionLinks(schema: string): readonly PageLink[] {
  return [...new Set(functionsOf(schema).map(({ name }) => name))].map((name) => ({
    icon: "function",
    label: name,
    isDim: !may("post", `/rpc/${name}`),
    to: { page: "function", schema, name },
  }));
}
