/** Reads metadata that svc needs from the database: configuration, role settings, the catalogue.
 * @module */
import {
  configStatements,
  readRoles,
  readValues,
  type RoleSettings,
  roleStatement,
} from "../config/in_database.ts";
import type { DatabaseValues } from "../config/load.ts";
import type { Config } from "../config/options.ts";
import type { Revocation } from "../auth/revocations.ts";
import type { FunctionName } from "../config/codecs.ts";
import {
  lockTimeout,
  loginSearchPath,
  metadataTransaction,
  type Statement,
} from "../../database/transaction.ts";
import { readRows } from "../../database/read_rows.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import { builtinModule } from "../../base/lib/builtin_modules.ts";
import { collectGarbage } from "../../base/lib/garbage.ts";
import { inSlices } from "../../base/lib/slices.ts";
import type { QueryTiming } from "../../base/observe/diagnostics.ts";
import {
  blockersQuery,
  buildSchemaCache,
  missingSchemasQuery,
  type QueryName,
  type SchemaCacheConfig,
  schemaCacheKey,
  schemaCacheQueries,
  type SchemaCacheQuery,
} from "../schema_cache/load.ts";
import type { SchemaCacheData } from "../schema_cache/schema_cache.ts";
import { arrayLiteral } from "../../base/sql/array_literal.ts";
import { compile, ident, param, quoteIdent, sql } from "../../base/sql/fragment.ts";
import type { AppStateBase } from "./app_state_base.ts";
import { maxRevocations } from "./revocation_list.ts";

/** Number of rows after which the reader starts a garbage collection. */
const rowsPerCollection = 10_000;

export interface SchemaReading {
  readonly data: SchemaCacheData;
  /** Duration in ms. */
  readonly ms: number;
  /** Duration of each query; null if not measured. */
  readonly timings: readonly QueryTiming[] | null;
  /** Configured schemas that do not exist; empty if no exposed schema exists. */
  readonly missingSchemas: readonly string[];
}

type CatalogueConfig = Config & Pick<SchemaCacheConfig, "hidesExtensionFunctions">;

type ReadState = Pick<AppStateBase, "database" | "dialect" | "failurePolicy" | "observe">;

export class MetadataReader {
  readonly #state: ReadState;
  #building: Promise<unknown> = Promise.resolve();
  /** The last schema cache, and the hash of its rows. `digest` is null without `node:crypto`. */
  #built: { readonly digest: string | null; readonly data: SchemaCacheData } | null = null;

  constructor(state: ReadState) {
    this.#state = state;
  }

  /** Reads the configuration in the database. If that fails, reports it and returns null. */
  async readConfig(config: Config): Promise<DatabaseValues | null> {
    try {
      return readValues(await this.#query(configStatements(config)));
    } catch (thrown) {
      this.#report("configuration", thrown);
      return null;
    }
  }

  /**
   * Reads the settings of each role. If that fails, reports it and returns null. `version` is the
   * server's version; null makes the reader query it.
   */
  async readRoles(version: string | null): Promise<RoleSettings | null> {
    try {
      const serverVersion = version ?? await this.#state.database.version();
      return readRoles(await this.#query([roleStatement(serverVersion, this.#state.dialect)]));
    } catch (thrown) {
      this.#report("roles", thrown);
      return null;
    }
  }

  /** Reads the catalogue. Times each query if the log level is `debug`. */
  async readSchema(config: CatalogueConfig): Promise<SchemaReading> {
    const start = performance.now();
    const { answers, digest, ...reading } = await this.#readAnswers(config);
    const data = await this.#build(digest, answers, config);
    return { ...reading, data, ms: performance.now() - start };
  }

  /** Reads the rows. This is a separate method so that its objects are garbage before the build. */
  async #readAnswers(config: CatalogueConfig) {
    const missingSchemas = await this.#readMissingSchemas(config);
    const isFound = (schema: string) => !missingSchemas.includes(schema);
    let read = 0;
    const hash = builtinModule("node:crypto")?.createHash("sha256");
    const queries = schemaCacheQueries({
      ...config,
      dbSchemas: config.dbSchemas.filter(isFound),
      dbExtraSearchPath: config.dbExtraSearchPath.filter(isFound),
    }).map((query): SchemaCacheQuery => ({
      ...query,
      parse: (text) => {
        if (++read % rowsPerCollection === 0) collectGarbage();
        hash?.update(`${text}\0`);
        return query.parse(text);
      },
    }));
    const statements = loadStatements(queries, { timed: config.logLevel === "debug" });
    const { rows } = await this.#state.database.transaction(
      metadataTransaction([lockTimeout, ...statements]),
    );
    const values = rows.slice(-statements.length).map((answer) => answer.map(([value]) => value));
    const digest = hash?.update(schemaCacheKey(config)).digest("hex") ?? null;
    return { ...splitLoadResults(values, queries), digest, missingSchemas };
  }

  /** Builds the schema cache. Returns the previous cache if its rows were the same. */
  async #build(
    digest: string | null,
    answers: readonly (readonly unknown[])[],
    config: SchemaCacheConfig,
  ): Promise<SchemaCacheData> {
    if (digest !== null && digest === this.#built?.digest) return this.#built.data;
    if (hasManyRows(answers)) collectGarbage();
    const building = inSlices(buildSchemaCache(answers, config));
    this.#building = building.catch(() => {});
    const data = await building;
    this.#built = { digest, data };
    return data;
  }

  /** Returns the schemas that do not exist. Returns none if no exposed schema exists, because the
   * load fails then. */
  async #readMissingSchemas(
    { dbSchemas, dbExtraSearchPath }: SchemaCacheConfig,
  ): Promise<readonly string[]> {
    const names = arrayLiteral([...new Set([...dbSchemas, ...dbExtraSearchPath])]);
    const rows = await this.#rows([rowsOf(missingSchemasQuery, names)]);
    const missing = rows.map(([name]) => name!);
    return dbSchemas.every((name) => missing.includes(name)) ? [] : missing;
  }

  /** Returns the processes that block a load which failed with SQLSTATE 55P03. */
  async readBlockers(): Promise<readonly string[]> {
    return (await this.#rows([rowsOf(blockersQuery)])).map(([text]) => text!);
  }

  /** Returns whether a role exists; true if that cannot be read. */
  async hasRole(name: string): Promise<boolean> {
    const text = "select 1 from pg_catalog.pg_roles where rolname = $1";
    return await this.#exists(rowsOf(text, name));
  }

  /** Returns whether a function can be called without arguments; true if that cannot be read. */
  async hasFunction({ schema, name }: FunctionName): Promise<boolean> {
    return await this.#exists(rowsOf(callableQuery, schema ?? "", name));
  }

  async #exists(statement: Statement): Promise<boolean> {
    return await this.#rows([statement]).then(({ length }) => length > 0, () => true);
  }

  /** Resolves when no build of a schema cache is in progress. */
  async settled(): Promise<void> {
    await this.#building;
  }

  /** Reads the list of revoked tokens from a relation or a function. Rejects if it cannot be read. */
  async readRevocations(source: FunctionName): Promise<readonly Revocation[]> {
    const query = (statement: Statement) => this.#query([...loginSearchPath, statement]);
    const isRelation = await query(relationStatement(source)) === "t";
    return JSON.parse(await query(revocationStatement(source, { isRelation })));
  }

  /** Makes the server scan its notification queue, which may repair it. */
  scanNotificationQueue(): void {
    this.#query([rowsOf("select pg_catalog.pg_notification_queue_usage()")]).catch(() => {});
  }

  /** Returns the single value of the last statement. Rolls back, so that no setting remains. */
  async #query(statements: readonly Statement[]): Promise<string> {
    return (await this.#rows(statements))[0]?.[0] ?? "";
  }

  async #rows(statements: readonly Statement[]): Promise<readonly (readonly (string | null)[])[]> {
    return await readRows(this.#state.database, lockTimeout, ...statements);
  }

  #report(what: "configuration" | "roles", thrown: unknown): void {
    if (this.#state.failurePolicy.exitOnLoginRefused(thrown)) throw thrown;
    const error = errorMembers(thrown, this.#state.dialect);
    this.#state.observe({ kind: "database-config-failed", what, error });
  }
}

/**
 * Returns whether a list has 2,000 items or more, so that building from it creates much garbage.
 */
export function hasManyRows(lists: readonly (readonly unknown[])[]): boolean {
  return lists.some(({ length }) => length >= 2000);
}

/** Returns a statement whose rows the caller needs. */
export function rowsOf(text: string, ...params: readonly string[]): Statement {
  return { text, params, use: "rows" };
}

/** Finds the functions of a name that need no arguments. If the schema is empty, the function may
 * be in any schema. */
const callableQuery = `select 1 from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where $1::pg_catalog.text in ('', n.nspname::pg_catalog.text) and p.proname = $2 and p.pronargs = p.pronargdefaults`;

/** Returns the statement whose value is `t` if a relation of this name exists, else `f`. */
function relationStatement({ schema, name }: FunctionName): Statement {
  const text = [...(schema === null ? [] : [schema]), name].map(quoteIdent).join(".");
  return rowsOf("select pg_catalog.to_regclass($1) is not null", text);
}

/** Returns the statement that reads the list of revoked tokens, at most one row above the maximum. */
function revocationStatement(
  { schema, name }: FunctionName,
  { isRelation }: { readonly isRelation: boolean },
): Statement {
  const named = schema === null ? ident(name) : ident(schema, name);
  const source = isRelation ? named : sql`${named}()`;
  const query = sql`
select coalesce(pg_catalog.json_agg(pg_catalog.json_build_object(
  'claim', claim, 'value', value, 'issuedBefore', issued_before, 'until', expires)), '[]')::pg_catalog.text
from (
  select claim::pg_catalog.text as claim, value::pg_catalog.text as value, issued_before::bigint as issued_before,
    extract(epoch from until)::pg_catalog.float8 as expires
  from ${source}
  where claim is not null and value is not null and (until is null or until > pg_catalog.now())
  limit ${param(String(maxRevocations + 1))}::bigint
) list`;
  return { ...compile(query), use: "rows" };
}

const clock = rowsOf("select extract(epoch from clock_timestamp()) * 1000");

/** Names of the queries in the log, in the order of their statements. */
const names: readonly (readonly [name: string, query: QueryName])[] = [
  ["tables", "relations"],
  ["keydeps", "view rules"],
  ["rels", "foreign keys"],
  ["funcs", "routines"],
  ["comprels", "computed relationships"],
  ["dreps", "representations"],
  ["mhandlers", "media handlers"],
];

/**
 * Returns the statements of a load. A timed load reads the clock before the first query and after
 * each one.
 */
export function loadStatements(
  queries: readonly SchemaCacheQuery[],
  { timed }: { readonly timed: boolean },
): readonly Statement[] {
  const statements = queries.map(({ text, params, parse }): Statement => ({
    ...rowsOf(text, ...params),
    parse,
  }));
  return timed ? [clock, ...statements.flatMap((statement) => [statement, clock])] : statements;
}

/**
 * Splits the rows of a load into the results of its queries and their timings in milliseconds.
 * `timings` is null for a load without timing.
 */
export function splitLoadResults(
  values: readonly (readonly unknown[])[],
  queries: readonly SchemaCacheQuery[],
): {
  readonly answers: readonly (readonly unknown[])[];
  readonly timings: readonly QueryTiming[] | null;
} {
  if (values.length === queries.length) return { answers: values, timings: null };
  const times = values.filter((_, at) => at % 2 === 0).map(([text]) => Number(text));
  const timings = names.map(([name, queryName]) => {
    const at = queries.findIndex((query) => query.name === queryName);
    return { name, ms: Math.max(0, times[at + 1]! - times[at]!) };
  });
  return { answers: values.filter((_, at) => at % 2 === 1), timings };
}
