/** Checks the server at the start and after a lost connection: the next one may lead to another
 * server. @module */
import type { Config } from "../config/options.ts";
import { metadataTransaction, type Statement } from "../../database/transaction.ts";
import type { Database } from "../../database/database.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { DatabaseError } from "../../base/errors/service_error.ts";

interface ServerCheckOptions {
  readonly database: Pick<Database, "transaction">;
  readonly observe: (event: Observation) => void;
  /** Connections that the service may open; null for an embedded database. */
  readonly connections: () => number | null;
}

/** Connections that the warning reserves for administrators and other programs. */
const reservedConnections = 10;

const query = (text: string): Statement => ({ text, params: [], use: "rows" });

/** One implicit transaction. A pooler that adds Sync messages ends it after each statement. */
const questions = {
  ...metadataTransaction([]),
  isTraced: false,
  block: null,
  statements: [
    query("select pg_catalog.set_config('svc.probe', 'y', true)"),
    query("select pg_catalog.current_setting('svc.probe', true)"),
    query("select pg_catalog.current_setting('max_connections', true)"),
  ],
} as const;

export class ServerCheck {
  readonly #options: ServerCheckOptions;
  #usesBlocks = false;
  #isDue = true;

  constructor(options: ServerCheckOptions) {
    this.#options = options;
  }

  /** Has the next run check again. */
  request(): void {
    this.#isDue = true;
  }

  /** Whether all transactions need BEGIN and COMMIT. Checks if that is due; rejects if the check fails. */
  async usesBlocks(): Promise<boolean> {
    if (!this.#isDue) return this.#usesBlocks;
    const { rows } = await this.#options.database.transaction(questions);
    const [setting, maxConnections] = rows.slice(-2).map((answer) => answer[0]?.[0] ?? null);
    const usesBlocks = setting !== "y";
    if (usesBlocks && !this.#usesBlocks) this.#options.observe({ kind: "blocks-used" });
    this.#usesBlocks = usesBlocks;
    this.#warnOfConnections(Number(maxConnections ?? Infinity));
    this.#isDue = false;
    return usesBlocks;
  }

  #warnOfConnections(maxConnections: number): void {
    const connections = this.#options.connections();
    if (connections === null || connections <= maxConnections - reservedConnections) return;
    this.#options.observe({ kind: "connections-exceeded", connections, maxConnections });
  }
}

/**
 * Returns the most connections to the primary at the same time. Followers are other threads: they
 * divide `db-pool`, the followed thread loads by a separate connection, and each watches the
 * servers.
 */
export function mostConnections(
  { dbChannelEnabled, dbPool, dbReplicaUri }: Pick<
    Config,
    "dbChannelEnabled" | "dbPool" | "dbReplicaUri"
  >,
  followers: number,
): number {
  const loading = followers === 0 ? 0 : 1;
  const listening = dbChannelEnabled ? 1 : 0;
  const monitoring = dbReplicaUri === null ? 0 : 1 + followers;
  return dbPool + loading + listening + monitoring;
}

/** Whether a load failed because a schema does not exist (3F000, `invalid_schema_name`). */
export function isMissingSchema(thrown: unknown): boolean {
  return thrown instanceof DatabaseError && thrown.failure.sqlstate === "3F000";
}

/** Whether a load failed because it waited too long for a lock (55P03, `lock_not_available`). */
export function isLockTimeout(thrown: unknown): boolean {
  return thrown instanceof DatabaseError && thrown.failure.sqlstate === "55P03";
}

/** Returns the first ten schemas that have tables or views, without schemas of the system. */
export async function readFilledSchemas(database: Database): Promise<readonly string[]> {
  const statement = { text: filledQuery, params: [], use: "rows" } as const;
  const { rows } = await database.transaction(metadataTransaction([statement]));
  return rows.at(-1)?.map(([name]) => name ?? "") ?? [];
}

const filledQuery = `
select distinct n.nspname::text from pg_catalog.pg_namespace n
  join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'svc_private')
order by 1 limit 10`;
