/**
 * Decides which requests a standby may execute, and which transactions return a bookmark. @module
 */
import type { Config } from "../../state/config/options.ts";
import type { RoleDefaults } from "../../state/config/in_database.ts";
import type { StandbyUse, Transaction } from "../../database/transaction.ts";
import { isStandbyRead } from "../plan/retry_safe.ts";
import { isStablePreRequest } from "../../state/app_state/standby_reads.ts";
import type { SchemaCache } from "../../state/schema_cache/schema_cache.ts";
import { accessOf, isolationOf } from "./data_plan.ts";
import type { RequestOperation } from "./script.ts";

/** Returns whether a standby may execute a read: it runs no volatile function, so that the primary
 * can repeat it. The client can demand the primary by `Prefer`, and the database by the comment tag
 * `@primary`. */
export function mayUseStandby(
  { request: { preferences }, planned: { plan } }: RequestOperation,
  { defaults, config, cache }: {
    /** The settings of the role. */
    readonly defaults: RoleDefaults | undefined;
    readonly config: Pick<Config, "dbPreRequest">;
    readonly cache: SchemaCache;
  },
): boolean {
  return accessOf(plan) === "read only" && preferences.read === null && preferences.tx === null &&
    !plan.representation.explain?.options.includes("analyze") &&
    // A standby refuses serializable transactions (PostgreSQL, "Hot Standby", Caveats).
    isolationOf(plan, defaults) !== "serializable" &&
    isStablePreRequest(config, cache) && isStandbyRead(plan, cache);
}

/** Returns a transaction for a database with standbys. A write returns a bookmark if it can commit;
 * a read does if its request had one. `standby` is null if the primary executes the transaction. */
export function replicatedTransaction(
  transaction: Transaction,
  { bookmark, standby }: {
    readonly bookmark: string | null;
    readonly standby: StandbyUse | null;
  },
): Transaction {
  if (transaction.access === "read write") {
    const isRolledBack = transaction.block?.end === "rollback";
    return isRolledBack ? transaction : { ...transaction, wantsBookmark: true };
  }
  return {
    ...transaction,
    ...(bookmark === null ? {} : { wantsBookmark: true }),
    ...(standby === null ? {} : { standby }),
  };
}
