/** Reads and caches the columns that roles may select, for `select=**`. System columns are included.
 * @module */
import { relationOf, rowVersionIn } from "../transaction/data_plan.ts";
import type { PlannedQuery } from "../transaction/script.ts";
import { OperationError } from "../transaction/operation_error.ts";
import { metadataTransaction, type Statement } from "../../database/transaction.ts";
import type { Caller, Database } from "../../database/database.ts";
import { DatabaseError } from "../../base/errors/service_error.ts";
import type { QualifiedName, SelectableColumns } from "../../state/schema_cache/schema_cache.ts";

/** Maximum number of cached pairs of role and relation. The oldest is evicted first. */
const maxPairs = 1000;

/** The cached columns for one schema cache. A later GRANT takes effect after a reload. A later
 * REVOKE takes effect after the first request that PostgreSQL refuses. */
export class ColumnPrivileges {
  readonly #database: Pick<Database, "transaction">;
  /** Columns by role and relation. */
  readonly #columns = new Map<string, ReadonlySet<string>>();

  constructor(database: Pick<Database, "transaction">) {
    this.#database = database;
  }

  /** Returns the cached columns; undefined if the pair is not cached. */
  recall(role: string, relation: QualifiedName): ReadonlySet<string> | undefined {
    return this.#columns.get(keyOf(role, relation));
  }

  /** Reads and caches the columns of relations. Returns false if the role does not exist. */
  async read(
    role: string,
    relations: readonly QualifiedName[],
    caller?: Caller,
  ): Promise<boolean> {
    const statements = relations.map(({ schema, name }): Statement => ({
      text: columnsQuery,
      params: [role, schema, name],
      use: "rows",
    }));
    try {
      const { rows } = await this.#database.transaction(metadataTransaction(statements), caller);
      for (const [index, columns] of rows.slice(-relations.length).entries()) {
        this.#remember(keyOf(role, relations[index]!), new Set(columns.map(([name]) => name!)));
      }
      return true;
    } catch (error) {
      // The error is not reported here: the request's transaction fails with a more useful error.
      if (error instanceof DatabaseError) return false;
      throw error;
    }
  }

  #remember(key: string, columns: ReadonlySet<string>): void {
    this.#columns.set(key, columns);
    if (this.#columns.size <= maxPairs) return;
    for (const oldest of this.#columns.keys()) return void this.#columns.delete(oldest);
  }

  forget(role: string): void {
    const prefix = keyOf(role);
    for (const key of this.#columns.keys()) if (key.startsWith(prefix)) this.#columns.delete(key);
  }
}

/** Returns the key of a pair. Names in PostgreSQL do not contain NUL. */
function keyOf(role: string, relation?: QualifiedName): string {
  return `${role}\0${relation === undefined ? "" : `${relation.schema}\0${relation.name}`}`;
}

/** The columns that the role of one request may select, which planning looks up. */
export class RoleColumns implements SelectableColumns {
  readonly #privileges: ColumnPrivileges;
  readonly #role: string;
  readonly #caller: Caller | undefined;
  /** Columns by relation; null if they cannot be read. */
  readonly #columns = new Map<string, ReadonlySet<string> | null>();
  /** Relations that planning looked up and that are not cached. */
  readonly #unknown = new Map<string, QualifiedName>();

  /** Reads of columns end at the deadline of `caller`. */
  constructor(privileges: ColumnPrivileges, role: string, caller?: Caller) {
    this.#privileges = privileges;
    this.#role = role;
    this.#caller = caller;
  }

  of(relation: QualifiedName): ReadonlySet<string> | null {
    const key = keyOf(this.#role, relation);
    const columns = this.#columns.get(key) ?? this.#privileges.recall(this.#role, relation) ?? null;
    if (columns !== null) this.#columns.set(key, columns);
    else if (!this.#columns.has(key)) this.#unknown.set(key, relation);
    return columns;
  }

  /** Reads the columns of looked-up relations that are not cached. Returns whether it read any. */
  async readUnknown(): Promise<boolean> {
    const unknown = [...this.#unknown];
    if (unknown.length === 0) return false;
    this.#unknown.clear();
    const relations = unknown.map(([, relation]) => relation);
    const wasRead = await this.#privileges.read(this.#role, relations, this.#caller);
    for (const [key, relation] of unknown) {
      this.#columns.set(key, this.#privileges.recall(this.#role, relation) ?? null);
    }
    return wasRead;
  }

  /** Settles as `result` does. If the role lacks a privilege, discards the role's cached columns,
   * which may be outdated. */
  async guard<Result>(result: Promise<Result>): Promise<Result> {
    try {
      return await result;
    } catch (error) {
      const cause = error instanceof OperationError ? error.cause : error;
      if (isInsufficientPrivilege(cause)) this.#privileges.forget(this.#role);
      throw error;
    }
  }
}

/** Returns the planned query, without row versions if the role may not read them. */
export async function readableQuery(
  planned: PlannedQuery,
  columns: RoleColumns,
): Promise<PlannedQuery> {
  const { plan, query } = planned;
  const relation = relationOf(plan);
  const version = rowVersionIn(plan);
  if (query.unversioned === undefined || relation === null || version === null) return planned;
  if (columns.of(relation) === null) await columns.readUnknown();
  const selectable = columns.of(relation);
  const names = version.kind === "columns" ? version.columns : systemColumns;
  if (selectable !== null && names.every((name) => selectable.has(name))) return planned;
  return { ...planned, kind: null, query: { ...query, main: query.unversioned } };
}

const systemColumns = ["tableoid", "xmin", "ctid"] as const;

/** SQLSTATE `insufficient_privilege`. */
const insufficientPrivilege = "42501";

function isInsufficientPrivilege(error: unknown): boolean {
  return error instanceof DatabaseError && error.failure.sqlstate === insufficientPrivilege;
}

const columnsQuery = `select a.attname::text
from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid
where n.nspname = $2::name and c.relname = $3::name and not a.attisdropped
  and pg_catalog.has_column_privilege($1::name, c.oid, a.attnum, 'select')`;
