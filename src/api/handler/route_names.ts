/** Names of routes for logs and metrics. @module */
import type { Config } from "../../state/config/options.ts";
import { percentDecode } from "../../base/http/percent.ts";
import { pathBeforeQuery } from "../request/query_request.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";

/** Route of all paths that name nothing in the schema cache. */
export const unknownRoute = "_unknown";

/** The route of `server-health-path` and the path below it. */
export const healthRoute = "_health";

/** Finds routes: `/`, `/<relation>` and `/rpc/<function>` of the exposed schemas. */
export class RouteNames {
  /** Routes by path; names are not encoded. */
  readonly #byPath: ReadonlyMap<string, string>;
  /** Whether `/<relation>/$query` belongs to the route of the relation. */
  readonly #hasQueryPaths: boolean;

  /** Without a schema cache, `/` is the only known route. */
  constructor(
    cache: SchemaCache | null,
    { dbSchemas, serverQueryMethod }: Pick<Config, "dbSchemas" | "serverQueryMethod">,
  ) {
    this.#hasQueryPaths = serverQueryMethod;
    const schemas = cache === null ? [] : dbSchemas;
    const routes = [
      "/",
      ...schemas.flatMap((schema) => cache!.relationNames(schema)).map((name) => `/${name}`),
      ...schemas.flatMap((schema) => cache!.routineNames(schema)).map((name) => `/rpc/${name}`),
    ];
    this.#byPath = new Map(routes.map((route) => [route, route]));
  }

  /** Returns the route of a raw path. The result never contains text that only the client chose. */
  of(path: string): string {
    return this.#byPath.get(path) ?? this.#ofOther(path);
  }

  #ofOther(path: string): string {
    const target = this.#hasQueryPaths ? pathBeforeQuery(path) ?? path : path;
    return this.#byPath.get(target) ??
      this.#byPath.get(percentDecode(target, "reject") ?? "") ?? unknownRoute;
  }
}
