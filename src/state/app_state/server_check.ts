/** Checks the server at the start and after a lost connection, when the address may lead to another
 * server. @module */
import type { Config } from "../config/options.ts";
import { metadataTransaction } from "../../database/transaction.ts";
import { type Database, keepsConnections } from "../../database/database.ts";
import { unsupportedVersion } from "../../database/server_version.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import { DatabaseError } from "../../base/errors/service_error.ts";
import type { AppStateBase } from "./app_state_base.ts";
import { rowsOf } from "./metadata_reader.ts";

/** Connections for administrators and other programs. svc warns if its pools leave fewer. */
const reservedConnections = 10;

/** An implicit transaction of several statements. A pooler that adds Sync messages splits it. */
const questions = {
  ...metadataTransaction([]),
  isTraced: false,
  block: null,
  statements: [
    rowsOf("select pg_catalog.set_config('svc.probe', 'y', true)"),
    rowsOf("select pg_catalog.current_setting('svc.probe', true)"),
    rowsOf("select pg_catalog.current_setting('max_connections', true)"),
  ],
} as const;

/** Checks the server when the service connects for a load, and reports which server it is. */
export class ServerCheck {
  readonly #state: AppStateBase;
  /** Number of other threads that open connections. */
  readonly #followers: number;
  #isDue = true;
  #isEncryptionReported = false;

  constructor(state: AppStateBase, followers: number) {
    this.#state = state;
    this.#followers = followers;
  }

  /** Makes the next run check the transactions of the server again. */
  request(): void {
    this.#isDue = true;
  }

  /** Checks the server. Returns its version. Rejects if the server is unreachable or too old. */
  async run(): Promise<string> {
    const { database, dialect, failurePolicy, observe } = this.#state;
    const version = await this.#readVersion();
    observe({ kind: "connected", version });
    this.#reportEncryption();
    observe({ kind: "pool-ready", max: database.counts().max });
    const tooOld = unsupportedVersion(version);
    if (tooOld === null) {
      this.#state.replace({ serverVersion: version });
      return version;
    }
    const { displayName: name } = dialect;
    failurePolicy.exit({ kind: "version-unsupported", version: tooOld, name });
    throw errors.cannotConnect(`PostgreSQL ${tooOld} is too old`);
  }

  async #readVersion(): Promise<string> {
    const { database, dialect, failurePolicy, observe } = this.#state;
    try {
      await this.#checkTransactions();
      return await database.version();
    } catch (thrown) {
      if (!failurePolicy.exitOnLoginRefused(thrown) && !failurePolicy.isEnding) {
        observe({ kind: "version-failed", error: errorMembers(thrown, dialect) });
      }
      failurePolicy.exitOnFatal(thrown);
      throw thrown;
    }
  }

  /** Tests, if needed, whether all transactions must use BEGIN and COMMIT. */
  async #checkTransactions(): Promise<void> {
    if (!this.#isDue) return;
    const { database, observe, snapshot } = this.#state;
    const { rows } = await database.transaction(questions);
    const [setting, maxConnections] = rows.slice(-2).map((answer) => answer[0]?.[0] ?? null);
    const usesBlocks = setting !== "y";
    if (usesBlocks !== snapshot.usesBlocks) {
      if (usesBlocks) observe({ kind: "blocks-used" });
      this.#state.replace({ usesBlocks });
      this.#state.configureDatabase();
    }
    this.#warnOfConnections(Number(maxConnections ?? Infinity));
    this.#isDue = false;
  }

  #reportEncryption(): void {
    const isEncrypted = this.#state.database.pool?.isEncrypted() ?? null;
    if (isEncrypted === null || this.#isEncryptionReported) return;
    this.#isEncryptionReported = true;
    this.#state.observeFinding({ kind: "connections-encrypted", isEncrypted });
  }

  #warnOfConnections(maxConnections: number): void {
    const { database, observe, snapshot: { config } } = this.#state;
    if (!keepsConnections(database)) return;
    const connections = mostConnections(config, this.#followers);
    if (connections <= maxConnections - reservedConnections) return;
    observe({ kind: "connections-exceeded", connections, maxConnections });
  }
}

/**
 * Returns the maximum number of simultaneous connections to the primary. Followers are other
 * threads: they share `db-pool`, the followed thread loads over a separate connection, and each
 * thread monitors the servers.
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

/** Returns whether a load failed because a schema does not exist (3F000, `invalid_schema_name`). */
export function isMissingSchema(thrown: unknown): boolean {
  return thrown instanceof DatabaseError && thrown.failure.sqlstate === "3F000";
}

/** Returns whether a load failed because it waited too long for a lock (55P03, `lock_not_available`). */
export function isLockTimeout(thrown: unknown): boolean {
  return thrown instanceof DatabaseError && thrown.failure.sqlstate === "55P03";
}

/** Returns the first ten user-defined schemas with tables or views. */
export async function readFilledSchemas(database: Database): Promise<readonly string[]> {
  const { rows } = await database.transaction(metadataTransaction([rowsOf(filledQuery)]));
  return rows.at(-1)?.map(([name]) => name ?? "") ?? [];
}

const filledQuery = `
select distinct n.nspname::text from pg_catalog.pg_namespace n
  join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
where n.nspname !~ '^pg_' and n.nspname not in ('information_schema', 'svc_private')
order by 1 limit 10`;
