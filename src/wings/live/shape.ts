/** Requests in Electric's form, `GET <live-path>/v1/shape?table=…`
 * (https://electric-sql.com/docs/api/http), and the equivalent live queries. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { liveErrors } from "./live_errors.ts";
import { pathSegment } from "../../base/http/percent.ts";
import { queryName } from "../../api/request/url/filter_param.ts";
import { equivalentQuery, type QueryParam } from "../../api/request/url/query_string.ts";
import { catalogueType } from "../../api/plan/values/type_names.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import type { Column } from "../../state/schema_cache/schema_cache.ts";
import type { LiveQuery } from "./group.ts";
import { WhereReader } from "./where.ts";

export interface Shape extends Omit<LiveQuery, "identity"> {
  /** Types of the columns, which clients need to parse values. */
  readonly schema: string;
}

/** The part of a snapshot on which the rows of a shape depend. */
export type ShapeCatalogue = Pick<Snapshot, "cache" | "cacheError"> & {
  readonly config: Pick<Snapshot["config"], "dbSchemas">;
};

export const shapePath = "/v1/shape";
/** Parameters of Electric that would change the rows, and are not supported. */
const unsupported = /^(?:subset__.*|where|table|columns|params\[.*)$/s;

/** Returns the live query for a path and its parameters. Throws `180`. */
export function plainShape(
  path: string,
  params: readonly QueryParam[],
  profile: string | null,
): Shape {
  if (!/^\/[^/]+$/.test(path)) throw liveErrors.invalidLiveQuery("The path names no relation");
  const wrong = params.find(({ name }) => unsupported.test(name))?.name;
  if (wrong !== undefined) throw liveErrors.invalidLiveQuery(`'${wrong}' is not supported`);
  return { path, query: equivalentQuery(params), profile, schema: "{}" };
}

/** Returns the live query for the parameters. As in Electric, rows have values as
 * PostgreSQL prints them. Throws `186` for rows that no filter can select. */
export function readShape(
  params: readonly QueryParam[],
  acceptProfile: string | null,
  { config, cache, cacheError }: ShapeCatalogue,
): Shape {
  if (cache === null) throw cacheError ?? errors.noSchemaCache();
  const texts = new Map(params.map(({ name, value }) => [name, value]));
  const wrong = params.find(({ name, value }) =>
    texts.get(name) !== value || !/^(?:table|columns|where|params\[\d+\])$/.test(name)
  );
  if (wrong !== undefined) throw liveErrors.unsupportedShape(`the parameter '${wrong.name}'`);
  const values = new Map(Array.from(texts, ([name, value]) => [`$${/\d+/.exec(name)}`, value]));
  const types = new Map<string, string>();
  const reader = (name: string) => new WhereReader(texts.get(name) || "", values, types);
  const [first = "", second, third] = reader("table").names(".");
  if (third !== undefined) throw liveErrors.unsupportedShape(`the table '${texts.get("table")}'`);
  const profile = second === undefined ? acceptProfile : first;
  const table = { schema: profile ?? config.dbSchemas[0]!, name: second ?? first };
  const columns = cache.relation(table)?.columns ?? [];
  for (const { name, baseType } of columns) types.set(name, baseType);
  const names = texts.get("columns") ? reader("columns").names(",") : [...types.keys()];
  const filters = texts.get("where") ? reader("where").any() : [];
  const select = names.map((name) => `${queryName(name)}::text`).join();
  return {
    path: `/${pathSegment(table.name)}`,
    query: equivalentQuery([{ name: "select", value: select }, ...filters]),
    profile,
    schema: schemaOf(columns.filter(({ name }) => names.includes(name))),
  };
}

/** Returns the types of columns as JSON that is valid in a header. */
function schemaOf(columns: readonly Column[]): string {
  const types = columns.map(({ name, baseType }) => {
    const element = baseType.replace(/\[\]$/, "");
    const type = catalogueType(element).replace(/^.*\./, "");
    return [name, { type, dims: Number(element !== baseType) }];
  });
  const escapeOf = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(Object.fromEntries(types)).replace(/[^ -~]/g, escapeOf);
}
