/** The access matrix: what each request role may do with each relation and function. @module */
import type { Config } from "../../../state/config/options.ts";
import { readJson } from "../../../database/read_rows.ts";
import type { Database } from "../../../database/database.ts";
import {
  type AccessPolicy,
  accessQuery,
  type AccessResult,
  type AccessRow,
} from "./access_query.ts";

/** Whether and how a role may use one action on a relation or function. Names are quoted for SQL. */
export interface AccessCell {
  readonly role: string;
  /** `api.doc`, or a function with its parameters: `api.hello(n text)`. */
  readonly relation: string;
  readonly action: "select" | "insert" | "update" | "delete" | "execute";
  /** `rows`: policies decide about rows. `none`: no policy allows a row. `no`: not permitted. */
  readonly may: "all" | "rows" | "none" | "no";
  /** Granted columns; null if all columns are granted. */
  readonly columns: readonly string[] | null;
  readonly policies: readonly AccessPolicy[];
  /** Tables that a view reads, and whose policies do not apply to these reads. */
  readonly past: readonly string[];
  /** Why access is denied, or whether the policies of tables below a view apply; otherwise null. */
  readonly reason: string | null;
  /** Statements that permit the action or make policies apply, separated by line breaks; null if no
   * statement does. */
  readonly sql: string | null;
  /** Number of visible rows, at most 10,001, or the SQLSTATE of a failed count; null if not counted. */
  readonly visible: number | string | null;
}

/** The cells of all roles. */
export interface AccessMatrix {
  /** Roles of requests by name. */
  readonly roles: AccessResult["roles"];
  /** Sorted by the code units of the relation, then by action, then by role. */
  readonly cells: readonly AccessCell[];
}

/** The part of the matrix to read. */
export interface AccessInput {
  readonly config: Pick<Config, "dbAnonRole" | "dbExtraSearchPath" | "dbReadOnly" | "dbSchemas">;
  /** A single role, which the login role may set. Default: all, at most 50. */
  readonly role?: string | null;
  /** Maximum number of relations; also the maximum number of functions. Default: no limit. */
  readonly limit?: number;
}

/** Reads the matrix in a read-only transaction, which waits at most 2 s for a lock (55P03). */
export async function readAccess(database: Database, input: AccessInput): Promise<AccessMatrix> {
  const { config, role = null, limit } = input;
  const lists = [config.dbSchemas, config.dbExtraSearchPath].map((names) => JSON.stringify(names));
  const params = [...lists, role ?? config.dbAnonRole, role, limit?.toString() ?? null];
  const result = await readJson<AccessResult>(
    database,
    { text: settingsQuery, params: [], use: "none" },
    { text: accessQuery, params, use: "rows" },
  );
  const cells = result.objects.flatMap((row) => cellsOf(row, result.roles, config.dbReadOnly));
  cells.sort((a, b) => a.relation < b.relation ? -1 : a.relation > b.relation ? 1 : 0);
  return { roles: result.roles, cells };
}

const settingsQuery =
  `select pg_catalog.set_config('jit', 'off', true), pg_catalog.set_config('lock_timeout', '2s', true)`;

/** An action, the bit of its privilege, and the letter of its policies in `pg_policy`. */
type ActionBit = readonly [action: AccessCell["action"], bit: number, letter: string];

const actions: readonly ActionBit[] = [
  ["select", 1, "r"],
  ["insert", 8, "a"],
  ["update", 4, "w"],
  ["delete", 16, "d"],
  ["execute", 2, ""],
];

type Verdict = Omit<AccessCell, "role" | "relation" | "action" | "visible">;

const all: Verdict = { may: "all", columns: null, policies: [], past: [], reason: null, sql: null };

function no(reason: string, ...sql: readonly string[]): Verdict {
  return { ...all, may: "no", reason, sql: sql.length === 0 ? null : sql.join("\n") };
}

function cellsOf(row: AccessRow, roles: AccessResult["roles"], isReadOnly: boolean): AccessCell[] {
  const [schema, relation, events, , , , rights] = row;
  const isFunction = relation.endsWith(")");
  return actions.filter(([word]) => (word === "execute") === isFunction).flatMap((action) =>
    roles.map(([, role], position): AccessCell => {
      const [word, bit] = action;
      const [hasUsage, , privileges, columns] = rights[position]!;
      const isGranted = (privileges & bit) !== 0 || (columns?.[word] ?? null) !== null;
      const object = isFunction ? `function ${relation}` : relation;
      const grant = isGranted ? [] : [`grant ${word} on ${object} to ${role};`];
      const usage = `grant usage on schema ${schema} to ${role};`;
      const verdict = bit > 2 && (isReadOnly || (events & bit) === 0)
        ? no(isReadOnly ? "db-read-only" : "the view cannot be written")
        : !hasUsage
        ? no(`no USAGE on schema ${schema}`, usage, ...grant)
        : !isGranted
        ? no(`${word.toUpperCase()} is not granted`, ...grant)
        : verdictOf(row, action, position);
      return { role, relation, action: word, ...verdict, visible: null };
    })
  );
}

/** Returns the access of a role that has the privilege. Policies and relations below a view may restrict it. */
function verdictOf(row: AccessRow, [word, bit, letter]: ActionBit, position: number): Verdict {
  const [, relation, , isOwnerView, columnCount, policies, rights] = row;
  const [, hasPolicies, , columnGrants, below] = rights[position]!;
  const [past, bounded, missing, unread, writes] = below ?? [null, null, null, 0, -1];
  if (missing !== null && (unread & bit) !== 0) {
    return no("a relation below the view cannot be read", ...missing);
  }
  if (bit > 2 && (writes & bit) === 0) {
    return no(`${word.toUpperCase()} is not granted on a relation below the view`);
  }
  const list = columnGrants?.[word] ?? null;
  const columns = list?.length === columnCount ? null : list;
  if (past !== null || bounded !== null) {
    const [verb, tables] = past === null ? ["apply", bounded!] : ["do not apply", past];
    const reason = `policies of ${tables.join(", ")} ${verb} below the view`;
    const sql = `alter view ${relation} set (security_invoker = true);`;
    const mends = past !== null && isOwnerView;
    const parts = { columns, past: past ?? [], reason, sql: mends ? sql : null };
    return { ...all, ...parts, may: bounded === null ? "all" : "rows" };
  }
  if (!hasPolicies) return { ...all, columns };
  const rolePolicies = (policies ?? []).filter(([command, roles]) =>
    (command === "*" || command === letter) && (roles?.includes(position) ?? true)
  ).map(([, , policy]) => policy);
  if (rolePolicies.some(({ permissive }) => permissive)) {
    return { ...all, may: "rows", columns, policies: rolePolicies };
  }
  const reason = `no permissive policy for ${word.toUpperCase()}`;
  return { ...all, may: "none", columns, policies: rolePolicies, reason };
}
