/**
 * Reads the service's own metadata from the database: configuration, role settings, the catalogue.
 *
 * @module
 */
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
import { noValues } from "../config/load.ts";
import { metadataBatch, sessionReset, type Statement } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import type { Dialect } from "../dialect.ts";
import { isUnsupported, lacks } from "../database/capabilities.ts";
import { DatabaseError } from "../errors/service_error.ts";
import { errorFacts } from "../errors/error_response.ts";
import type { Observation, QueryTiming } from "../observe/observation.ts";
import {
  buildSchemaCache,
  emptyResults,
  type SchemaCacheConfig,
  schemaCacheQueries,
  type SchemaCacheQuery,
} from "../schema_cache/load.ts";
import type { SchemaCacheData } from "../schema_cache/schema_cache.ts";
import { parseRevocations, relationStatement, revocationStatement } from "./revocation_query.ts";
import { loadStatements, splitLoadResults } from "../schema_cache/timings.ts";

/** Result of {@linkcode MetadataReader.readSchema}. */
export interface SchemaReading {
  readonly data: SchemaCacheData;
  /** Duration in ms. */
  readonly ms: number;
  /** Duration of each query; null unless measured. */
  readonly timings: readonly QueryTiming[] | null;
}

/** Reads the metadata of one database. */
export class MetadataReader {
  readonly #database: Database;
  readonly #dialect: Dialect;
  readonly #observe: (event: Observation) => void;
  readonly #exitOnFatal: (thrown: unknown) => boolean;

  /** Reads of configuration and roles reject only if `exitOnFatal` returns true for the failure. */
  constructor(
    database: Database,
    dialect: Dialect,
    observe: (event: Observation) => void,
    exitOnFatal: (thrown: unknown) => boolean,
  ) {
    this.#database = database;
    this.#dialect = dialect;
    this.#observe = observe;
    this.#exitOnFatal = exitOnFatal;
  }

  /** Reads the configuration in the database. Reports a failure and returns no values. */
  async readConfig(config: Config): Promise<DatabaseValues> {
    try {
      return readValues(await this.#query(configStatements(config)));
    } catch (thrown) {
      this.#report("configuration", thrown);
      return noValues;
    }
  }

  /**
   * Reads the settings of each role. Reports a failure and returns null. `version` is the server's
   * version; null makes the reader query it.
   */
  async readRoles(version: string | null): Promise<RoleSettings | null> {
    try {
      const serverVersion = version ?? await this.#database.version();
      return readRoles(await this.#query([roleStatement(serverVersion, this.#dialect)]));
    } catch (thrown) {
      this.#report("roles", thrown);
      return null;
    }
  }

  /** Reads the catalogue. Times each query if the log level is `debug`. */
  async readSchema(
    config: Config & Pick<SchemaCacheConfig, "hidesExtensionFunctions">,
  ): Promise<SchemaReading> {
    const start = performance.now();
    const isReduced = lacks(config.dbCapabilities, "catalogue");
    const queries = schemaCacheQueries(config).map((query) =>
      isReduced ? withoutCatalogue(query) : query
    );
    const { answers, timings } = await this.#queryCatalogue(queries, config);
    const data = buildSchemaCache(answers, config);
    return { data, ms: performance.now() - start, timings };
  }

  /** Runs the queries again without an optional one that the server cannot run. */
  async #queryCatalogue(
    queries: readonly SchemaCacheQuery[],
    config: Pick<Config, "dbCapabilities" | "logLevel">,
  ): Promise<ReturnType<typeof splitLoadResults>> {
    const isTimed = config.logLevel === "debug";
    const statements = loadStatements(queries, { timed: isTimed });
    try {
      const { rows } = await this.#database.transaction(metadataBatch(statements));
      const values = rows.slice(-statements.length).map((answer) => answer[0]?.[0] ?? "");
      return splitLoadResults(values, queries);
    } catch (thrown) {
      const refused = refusedQuery(thrown, queries, isTimed);
      if (refused === undefined || config.dbCapabilities.includes("+catalogue")) throw thrown;
      const error = errorFacts(thrown, this.#dialect);
      this.#observe({ kind: "catalogue-incomplete", part: refused.name, error });
      const rest = queries.map((query) => query === refused ? withoutCatalogue(query) : query);
      return await this.#queryCatalogue(rest, config);
    }
  }

  /** Reads the list of revoked tokens from a relation or a function. Rejects if it cannot be read. */
  async readRevocations(source: FunctionName): Promise<readonly Revocation[]> {
    const isRelation = await this.#query([relationStatement(source)]) === "t";
    return parseRevocations(await this.#query([revocationStatement(source, { isRelation })]));
  }

  /** Makes the server scan its queue of notifications, which may repair the queue. */
  scanNotificationQueue(): void {
    this.#query([queueUsage]).catch(() => {});
  }

  /** Returns the single value of the last statement. Rolls back, so that no setting remains. */
  async #query(statements: readonly Statement[]): Promise<string> {
    const { rows } = await this.#database.transaction(metadataBatch(statements, "rollback"));
    return rows.at(-1)?.[0]?.[0] ?? "";
  }

  #report(what: "configuration" | "roles", thrown: unknown): void {
    if (this.#exitOnFatal(thrown)) throw thrown;
    const error = errorFacts(thrown, this.#dialect);
    this.#observe({ kind: "database-config-failed", what, error });
  }
}

/** Returns the query that gives the empty result in place of one that is optional. */
function withoutCatalogue(query: SchemaCacheQuery): SchemaCacheQuery {
  const empty = emptyResults[query.name];
  if (empty === undefined) return query;
  return { name: query.name, text: "select $1::text", params: [empty] };
}

/** Returns the optional query that the server cannot run; undefined for other failures. */
function refusedQuery(
  thrown: unknown,
  queries: readonly SchemaCacheQuery[],
  isTimed: boolean,
): SchemaCacheQuery | undefined {
  if (!(thrown instanceof DatabaseError) || !isUnsupported(thrown)) return;
  const position = thrown.statement - sessionReset.length;
  const query = queries[isTimed ? (position - 1) / 2 : position];
  return query !== undefined && withoutCatalogue(query) !== query ? query : undefined;
}

const queueUsage: Statement = {
  text: "select pg_catalog.pg_notification_queue_usage()",
  params: [],
  use: "rows",
};
