/** The methods of a resource, for the header `Allow`. Privileges do not change them. @module */
import type { Config } from "../../state/config/options.ts";
import { acceptedQueries } from "../request/query_request.ts";
import type { Relation, Routine } from "../../state/schema_cache/schema_cache.ts";
import type { Resource } from "../request/action.ts";

export const rootMethods = "OPTIONS,GET,HEAD";

export const rootMethodsWithBatch = `${rootMethods},POST`;

export function relationMethods(relation: Relation): string {
  const { insertable, updatable, deletable, primaryKey } = relation;
  return [
    "OPTIONS,GET,HEAD",
    ...(insertable ? ["POST"] : []),
    ...(insertable && updatable && primaryKey.length > 0 ? ["PUT"] : []),
    ...(updatable ? ["PATCH"] : []),
    ...(deletable ? ["DELETE"] : []),
  ].join(",");
}

export function routineMethods(overloads: readonly Routine[]): string {
  return overloads.every(({ volatility }) => volatility === "volatile")
    ? "OPTIONS,POST"
    : "OPTIONS,GET,HEAD,POST";
}

export interface OptionsPlan {
  readonly kind: "options";
  readonly allow: string;
  /** Value of `Accept-Query`; null if the header is not sent. */
  readonly acceptQuery: string | null;
}

const readingMethods = "GET,HEAD";

/** Plans OPTIONS. QUERY is possible for each resource with GET, except the root. */
export function planOptions(
  methods: string,
  target: Resource["kind"],
  { serverQueryMethod, dialect }: Config,
): OptionsPlan {
  const takesQuery = serverQueryMethod && dialect.queryMethod === "listed" && target !== "root" &&
    methods.includes(readingMethods);
  if (!takesQuery) return { kind: "options", allow: methods, acceptQuery: null };
  return {
    kind: "options",
    allow: methods.replace(readingMethods, `${readingMethods},QUERY`),
    acceptQuery: acceptedQueries(target === "routine"),
  };
}
