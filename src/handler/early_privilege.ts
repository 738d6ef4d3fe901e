/**
 * Refuses a request with a long body before the body is received, if its role has no privilege on the
 * relation or function. PostgreSQL would refuse the statement with the same error.
 *
 * @module
 */
import { metadataBatch, type Statement } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { DatabaseError } from "../errors/service_error.ts";
import type { Action, ApiRequest } from "../request/api_request.ts";

/** A verdict is reused for this time. */
const verdictMs = 1000;
/** Verdicts that are remembered. All are forgotten when there are more. */
const maxVerdicts = 1000;

/** A relation or function, and the privilege that a role needs on it. */
interface Target {
  readonly kind: "relation" | "function";
  readonly schema: string;
  readonly name: string;
  readonly privilege: "insert" | "update" | "execute";
}

/** SQLSTATE `insufficient_privilege`. */
const insufficientPrivilege = "42501";

interface Verdict {
  /** Milliseconds since an arbitrary start. */
  readonly until: number;
  /** Resolves with PostgreSQL's message, or null if the role has a privilege. */
  readonly message: Promise<string | null>;
}

/** Asks the database for privileges, at most once a second for a role and its target. */
export class EarlyPrivilegeCheck {
  readonly #database: Pick<Database, "transaction">;
  readonly #now: () => number;
  readonly #verdicts = new Map<string, Verdict>();

  /** `now` returns milliseconds. */
  constructor(database: Pick<Database, "transaction">, now: () => number) {
    this.#database = database;
    this.#now = now;
  }

  /** Throws `42501` if the role cannot execute a request whatever its body holds. */
  async check({ action, schema }: Pick<ApiRequest, "action" | "schema">, role: string) {
    const target = targetOf(action, schema);
    if (target === null) return;
    const message = await this.#messageFor(target, role);
    if (message === null) return;
    throw new DatabaseError({
      sqlstate: insufficientPrivilege,
      message,
      detail: null,
      hint: null,
    });
  }

  #messageFor(target: Target, role: string): Promise<string | null> {
    const key = JSON.stringify([role, target]);
    const now = this.#now();
    const known = this.#verdicts.get(key);
    if (known !== undefined && known.until > now) return known.message;
    if (this.#verdicts.size >= maxVerdicts) this.#verdicts.clear();
    const message = this.#ask(target, role);
    this.#verdicts.set(key, { until: now + verdictMs, message });
    message.catch(() => this.#verdicts.delete(key));
    return message;
  }

  async #ask({ kind, schema, name, privilege }: Target, role: string): Promise<string | null> {
    const statement: Statement = kind === "relation"
      ? { text: relationQuery, params: [role, schema, name, privilege], use: "rows" }
      : { text: functionQuery, params: [role, schema, name], use: "rows" };
    try {
      const { rows } = await this.#database.transaction(metadataBatch([statement]));
      const [hasUsage, hasPrivilege, objectKind] = rows.at(-1)?.[0] ?? [];
      if (hasUsage === "f") return `permission denied for schema ${schema}`;
      return hasPrivilege === "f" ? `permission denied for ${objectKind} ${name}` : null;
    } catch (error) {
      // A role that does not exist: the transaction of the request fails with its own error.
      if (error instanceof DatabaseError) return null;
      throw error;
    }
  }
}

function targetOf(action: Action, schema: string): Target | null {
  switch (action.kind) {
    case "insert":
    case "put":
      return { kind: "relation", schema, name: action.relation, privilege: "insert" };
    case "update":
      return { kind: "relation", schema, name: action.relation, privilege: "update" };
    case "call":
      return { kind: "function", schema, name: action.routine, privilege: "execute" };
    case "read":
    case "delete":
    case "root":
    case "options":
      return null;
    default:
      return action satisfies never;
  }
}

const relationQuery = `select
  pg_catalog.has_schema_privilege($1::name, n.oid, 'usage'),
  pg_catalog.has_table_privilege($1::name, c.oid, $4::text)
    or pg_catalog.has_any_column_privilege($1::name, c.oid, $4::text),
  case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
    when 'f' then 'foreign table' else 'table' end
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where n.nspname = $2::name and c.relname = $3::name`;

/** A role that may execute no overload of a name cannot call the function, whatever its arguments. */
const functionQuery = `select
  pg_catalog.bool_or(pg_catalog.has_schema_privilege($1::name, n.oid, 'usage')),
  pg_catalog.bool_or(pg_catalog.has_function_privilege($1::name, p.oid, 'execute')),
  'function'
from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where n.nspname = $2::name and p.proname = $3::name`;
