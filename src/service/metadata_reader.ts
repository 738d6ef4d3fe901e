/**
 * What the service itself asks the database: configuration, roles, the catalogue.
 *
 * @module
 */
import {
  configStatements,
  readRoles,
  readValues,
  type RoleDefaultsByRole,
  roleStatement,
} from "../config/in_database.ts";
import type { DatabaseValues } from "../config/load.ts";
import type { Config } from "../config/options.ts";
import { noValues } from "../config/source.ts";
import { type Database, metadataBatch, type Statement } from "../database/database.ts";
import type { Dialect } from "../dialect.ts";
import { errorFacts } from "../errors/error_response.ts";
import type { Observation, QueryTiming } from "../observe/observation.ts";
import { buildSchemaCache, schemaCacheQueries } from "../schema_cache/load.ts";
import type { SchemaCacheData } from "../schema_cache/schema_cache.ts";
import { loadStatements, splitLoadResults } from "../schema_cache/timings.ts";

/** What reading the catalogue gave. */
export interface QueriedSchema {
  readonly data: SchemaCacheData;
  readonly ms: number;
  /** How long each query took, if that was measured. */
  readonly timings: readonly QueryTiming[] | null;
}

/** Asks one database. */
export class Questions {
  readonly #database: Database;
  readonly #dialect: Dialect;
  readonly #observe: (event: Observation) => void;
  readonly #isEnd: (thrown: unknown) => boolean;

  /** What `isEnd` says yes to is not lived with: the question rejects. */
  constructor(
    database: Database,
    dialect: Dialect,
    observe: (event: Observation) => void,
    isEnd: (thrown: unknown) => boolean,
  ) {
    this.#database = database;
    this.#dialect = dialect;
    this.#observe = observe;
    this.#isEnd = isEnd;
  }

  /** The configuration in the database; none when it cannot be asked for, which is reported. */
  async values(config: Config): Promise<DatabaseValues> {
    try {
      return readValues(await this.#ask(configStatements(config)));
    } catch (thrown) {
      this.#failed("configuration", thrown);
      return noValues;
    }
  }

  /**
   * What requests of each role begin with; nothing when it cannot be asked for, which is reported.
   * `version` is that of the server, if it is known.
   */
  async roles(version: string | null): Promise<RoleDefaultsByRole> {
    try {
      const known = version ?? await this.#database.version();
      return readRoles(await this.#ask([roleStatement(known)]));
    } catch (thrown) {
      this.#failed("roles", thrown);
      return new Map();
    }
  }

  /** Reads the catalogue; the queries are timed one by one where the log wants to know. */
  async schema(config: Config): Promise<QueriedSchema> {
    const queries = schemaCacheQueries(config);
    const began = performance.now();
    const statements = loadStatements(queries, { timed: config.logLevel === "debug" });
    const { rows } = await this.#database.transaction(metadataBatch(statements));
    const values = rows.slice(-statements.length).map((answer) => answer[0]?.[0] ?? "");
    const { answers, timings } = splitLoadResults(values, queries);
    const data = buildSchemaCache(answers, config);
    return { data, ms: performance.now() - began, timings };
  }

  /** Has the server go through its queue of notifications, which may repair it. */
  readQueue(): void {
    this.#ask([queueUsage]).catch(() => {});
  }

  /** Gives the only value of the last statement; what the statements set is forgotten. */
  async #ask(statements: readonly Statement[]): Promise<string> {
    const { rows } = await this.#database.transaction(metadataBatch(statements, "rollback"));
    return rows.at(-1)?.[0]?.[0] ?? "";
  }

  #failed(what: "configuration" | "roles", thrown: unknown): void {
    if (this.#isEnd(thrown)) throw thrown;
    const error = errorFacts(thrown, this.#dialect);
    this.#observe({ kind: "database-config-failed", what, error });
  }
}

const queueUsage: Statement = {
  text: "select pg_catalog.pg_notification_queue_usage()",
  params: [],
  use: "rows",
};
