/** Requests in Electric's form, `GET <live-path>/v1/shape?table=…` (https://electric-sql.com/docs/api/http),
 * and the live queries of the same rows. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { pathSegment } from "../../base/http/percent.ts";
import { queryName } from "../../api/request/url/filter_param.ts";
import { equivalentQuery, type QueryParam } from "../../api/request/url/query_string.ts";
import { catalogueType } from "../../api/plan/values/type_names.ts";
import type { Config } from "../../state/config/options.ts";
import type { Column, SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import type { LiveQuery } from "./group.ts";
import { WhereReader } from "./where.ts";

export interface Shape extends Omit<LiveQuery, "identity"> {
  /** Types of the columns, for the parsers of clients. */
  readonly schema: string;
}

/** The part of a snapshot that decides the rows of a shape. */
export interface ShapeCatalogue {
  readonly config: Pick<Config, "dbSchemas">;
  readonly cache: SchemaCache | null;
  readonly cacheError: Error | null;
}

export const shapePath = "/v1/shape";
/** Parameters of Electric that would change the rows. */
const unsupported = /^(?:subset__.*|where|table|columns|params\[.*)$/s;

/** Returns the live query of a path and its parameters. Throws `180`. */
export function plainShape(
  path: string,
  params: readonly QueryParam[],
  profile: string | null,
): Shape {
  if (!/^\/[^/]+$/.test(path)) throw errors.invalidLiveQuery("The path names no relation");
  const wrong = params.find(({ name }) => unsupported.test(name))?.name;
  if (wrong !== undefined) throw errors.invalidLiveQuery(`'${wrong}' is not supported`);
  return { path, query: equivalentQuery(params), profile, schema: "{}" };
}

/**
 * Returns the live query of the parameters. Its values are PostgreSQL's texts, as Electric's are.
 * Throws `186` for rows that no filter selects.
 */
export function readShape(
  params: readonly QueryParam[],
  acceptProfile: string | null,
  { config, cache, cacheError }: ShapeCatalogue,
): Shape {
  if (cache === null) throw cacheError ?? errors.noSchemaCache();
  const byName = new Map(params.map(({ name, value }) => [name, value]));
  const twice = params.find(({ name, value }) => byName.get(name) !== value);
  const other = params.find(({ name }) => !/^(?:table|columns|where|params\[\d+\])$/.test(name));
  const wrong = twice ?? other;
  if (wrong !== undefined) throw errors.unsupportedShape(`the parameter '${wrong.name}'`);
  const values = new Map(Array.from(byName, ([name, value]) => [`$${/\d+/.exec(name)}`, value]));
  const read = <T>(name: string, production: (reader: WhereReader) => T) => {
    const reader = new WhereReader(byName.get(name) ?? "", values);
    return reader.whole(() => production(reader));
  };
  const [first, second, third] = read("table", (reader) => reader.list(".", () => reader.name()));
  if (third !== undefined) throw errors.unsupportedShape(`the table '${byName.get("table")}'`);
  const profile = second === undefined ? acceptProfile : first!;
  const table = { schema: profile ?? config.dbSchemas[0]!, name: second ?? first! };
  const known = cache.relation(table)?.columns ?? [];
  const columns = byName.get("columns")
    ? read("columns", (reader) => reader.list(",", () => reader.name()))
    : known.map(({ name }) => name);
  const condition = byName.get("where") ? read("where", (reader) => reader.any()) : undefined;
  const select = columns.map((name) => `${queryName(name)}::text`).join();
  const filters: readonly QueryParam[] = condition?.all ?? (condition ? [condition] : []);
  return {
    path: `/${pathSegment(table.name)}`,
    query: equivalentQuery([{ name: "select", value: select }, ...filters]),
    profile,
    schema: schemaOf(known.filter(({ name }) => columns.includes(name))),
  };
}

/** Returns the types of columns as JSON, which a header may have. */
function schemaOf(columns: readonly Column[]): string {
  const types = columns.map(({ name, baseType }) => {
    const element = baseType.replace(/\[\]$/, "");
    const type = catalogueType(element).replace(/^.*\./, "");
    return [name, { type, dims: Number(element !== baseType) }];
  });
  const escapeOf = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(Object.fromEntries(types)).replace(/[^ -~]/g, escapeOf);
}
