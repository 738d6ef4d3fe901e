/** Reads and remembers the columns that roles may select, which `**` shows. System columns are
 * among them. @module */
import { relationOf, rowVersionIn } from "../transaction/data_plan.ts";
import type { PlannedQuery } from "../transaction/script.ts";
import { OperationError } from "./batch/operation_error.ts";
import { metadataTransaction, type Statement } from "../../database/transaction.ts";
import type { Caller, Database } from "../../database/database.ts";
import { DatabaseError } from "../../base/errors/service_error.ts";
import type { QualifiedName, SelectableColumns } from "../../state/schema_cache/schema_cache.ts";

/** Most pairs of a role and a relation that are remembered; the oldest is forgotten first. */
const maxPairs = 1000;

/**
 * The remembered columns. They are valid for one schema cache: a later GRANT takes effect after a
 * reload, a later REVOKE after the request that it refuses.
 */
export class ColumnPrivileges {
  readonly #database: Pick<Database, "transaction">;
  /** By role and relation. */
  readonly #columns = new Map<string, ReadonlySet<string>>();

  constructor(database: Pick<Database, "transaction">) {
    this.#database = database;
  }

  /** Returns the remembered columns; undefined for a pair that is not remembered. */
  recall(role: string, relation: QualifiedName): ReadonlySet<string> | undefined {
    return this.#columns.get(keyOf(role, relation));
  }

  /** Reads the columns of relations, and remembers them. Returns false for a role that does not exist. */
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
      // The transaction of the request fails with another error.
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

/** PostgreSQL's names have no character 0. */
function keyOf(role: string, relation?: QualifiedName): string {
  return `${role}\0${relation === undefined ? "" : `${relation.schema}\0${relation.name}`}`;
}

/** The columns that the role of one request may select. Planning looks relations up. */
export class RoleColumns implements SelectableColumns {
  readonly #privileges: ColumnPrivileges;
  readonly #role: string;
  readonly #caller: Caller | undefined;
  /** Columns by relation; null where they cannot be read. */
  readonly #columns = new Map<string, ReadonlySet<string> | null>();
  /** Relations that were looked up and are unknown. */
  readonly #unknown = new Map<string, QualifiedName>();

  /** The reads end with the deadline of the caller. */
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

  /** Reads the columns of relations that were looked up and are unknown. Returns false if there are
   * no columns. */
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

  /** Returns the result. Forgets the columns of the role if it lacks a privilege: they may have changed. */
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

/** Returns a query with its statement that reads no row versions, if the role may not read them. */
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
