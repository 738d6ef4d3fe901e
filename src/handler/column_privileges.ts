/**
 * Reads and remembers the columns that roles may select, which `**` shows. System columns are among them.
 *
 * @module
 */
import { metadataBatch, type Statement } from "../database/batch.ts";
import type { Caller, Database } from "../database/database.ts";
import { DatabaseError } from "../errors/service_error.ts";
import type { QualifiedName, SelectableColumns } from "../schema_cache/schema_cache.ts";

/** Most pairs of a role and a relation that are remembered; the oldest is evicted first. */
const maxPairs = 1000;

/** The remembered columns. They are valid for one schema cache: a later GRANT counts after a reload. */
export class ColumnPrivileges {
  readonly #database: Pick<Database, "transaction">;
  readonly #columns = new Map<string, ReadonlySet<string>>();

  constructor(database: Pick<Database, "transaction">) {
    this.#database = database;
  }

  /** Returns the remembered columns; undefined for a pair that is not remembered. */
  recall(role: string, relation: QualifiedName): ReadonlySet<string> | undefined {
    return this.#columns.get(keyOf(role, relation));
  }

  /** Reads the columns of relations, and remembers them. Returns null for a role that does not exist. */
  async read(
    role: string,
    relations: readonly QualifiedName[],
    caller?: Caller,
  ): Promise<readonly ReadonlySet<string>[] | null> {
    const statements = relations.map(({ schema, name }): Statement => ({
      text: columnsQuery,
      params: [role, schema, name],
      use: "rows",
    }));
    try {
      const { rows } = await this.#database.transaction(metadataBatch(statements), caller);
      return rows.slice(-relations.length).map((columns, index) => {
        const names = new Set(columns.map(([name]) => name!));
        this.#remember(keyOf(role, relations[index]!), names);
        return names;
      });
    } catch (error) {
      // The transaction of the request fails with its own error.
      if (error instanceof DatabaseError) return null;
      throw error;
    }
  }

  #remember(key: string, columns: ReadonlySet<string>): void {
    this.#columns.delete(key);
    this.#columns.set(key, columns);
    if (this.#columns.size <= maxPairs) return;
    for (const oldest of this.#columns.keys()) {
      this.#columns.delete(oldest);
      return;
    }
  }

  /** Forgets the columns of relations. */
  forget(role: string, relations: readonly QualifiedName[]): void {
    for (const relation of relations) this.#columns.delete(keyOf(role, relation));
  }
}

function keyOf(role: string, { schema, name }: QualifiedName): string {
  return JSON.stringify([role, schema, name]);
}

/** The columns that the role of one request may select. Planning looks relations up. */
export class RoleColumns implements SelectableColumns {
  readonly #privileges: ColumnPrivileges;
  readonly #role: string;
  readonly #caller: Caller | undefined;
  /** Columns by relation; null where they cannot be read. */
  readonly #columns = new Map<string, ReadonlySet<string> | null>();
  readonly #relations = new Map<string, QualifiedName>();

  /** The reads end with the deadline of the caller. */
  constructor(privileges: ColumnPrivileges, role: string, caller?: Caller) {
    this.#privileges = privileges;
    this.#role = role;
    this.#caller = caller;
  }

  of(relation: QualifiedName): ReadonlySet<string> | null {
    const key = keyOf(this.#role, relation);
    this.#relations.set(key, relation);
    const columns = this.#columns.get(key) ?? this.#privileges.recall(this.#role, relation);
    if (columns === undefined) return null;
    this.#columns.set(key, columns);
    return columns;
  }

  /** Reads the columns of relations that were looked up and are unknown. Returns false without any. */
  async readUnknown(): Promise<boolean> {
    const unknown = [...this.#relations].filter(([key]) => !this.#columns.has(key));
    if (unknown.length === 0) return false;
    const relations = unknown.map(([, relation]) => relation);
    const read = await this.#privileges.read(this.#role, relations, this.#caller);
    for (const [index, [key]] of unknown.entries()) this.#columns.set(key, read?.[index] ?? null);
    return read !== null;
  }

  /** Forgets the columns and reads them again. Returns whether they have changed. */
  async readAgain(): Promise<boolean> {
    this.#privileges.forget(this.#role, [...this.#relations.values()]);
    const before = new Map(this.#columns);
    this.#columns.clear();
    await this.readUnknown();
    return [...before].some(([key, columns]) => !isSame(columns, this.#columns.get(key) ?? null));
  }
}

/** SQLSTATE `insufficient_privilege`. */
const insufficientPrivilege = "42501";

export function isInsufficientPrivilege(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.failure.sqlstate === insufficientPrivilege;
}

function isSame(one: ReadonlySet<string> | null, other: ReadonlySet<string> | null): boolean {
  if (one === null || other === null) return one === other;
  return one.size === other.size && [...one].every((name) => other.has(name));
}

const columnsQuery = `select a.attname::text
from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  join pg_catalog.pg_attribute a on a.attrelid = c.oid
where n.nspname = $2::name and c.relname = $3::name and not a.attisdropped
  and pg_catalog.has_column_privilege($1::name, c.oid, a.attnum, 'select')`;
