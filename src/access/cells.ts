/** The matrix of access: what each role of requests may do with each relation and function. @module */
import type { Config } from "../config/options.ts";
import { metadataBatch, type Statement } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { type AccessFacts, accessQuery, type AccessRelationRow } from "./access_query.ts";

/** A policy that applies; `using` and `check` are expressions as PostgreSQL prints them. */
export interface AccessPolicy {
  readonly name: string;
  readonly permissive: boolean;
  readonly using: string | null;
  readonly check: string | null;
}

/** The access of a role by one action. Names are quoted for SQL. */
export interface AccessCell {
  readonly role: string;
  /** `api.doc`, or a function with its parameters: `api.hello(n text)`. */
  readonly relation: string;
  readonly action: "select" | "insert" | "update" | "delete" | "execute";
  /** `rows` are those of policies. `none`: no policy allows a row. `no`: refused. */
  readonly may: "all" | "rows" | "none" | "no";
  /** Granted columns; null for all. */
  readonly columns: readonly string[] | null;
  readonly policies: readonly AccessPolicy[];
  /** Tables below a view whose policies do not apply. */
  readonly past: readonly string[];
  /** Cause of a refusal, or tables below a view whose policies count; null for others. */
  readonly reason: string | null;
  /** Statements that allow it, or that let policies apply, separated by line breaks; null without any. */
  readonly sql: string | null;
  /** Number of visible rows, at most 10,001, or the SQLSTATE of the count; null if it was not counted. */
  readonly visible: number | string | null;
}

/** The cells of all roles. */
export interface AccessMatrix {
  /** Roles of requests by name, and whether the login role may become them. */
  readonly roles: AccessFacts["roles"];
  /** By the code units of the relation, then by action, then by role. */
  readonly cells: readonly AccessCell[];
}

/** The part of the matrix to read. */
export interface AccessInput {
  readonly config: Pick<Config, "dbAnonRole" | "dbExtraSearchPath" | "dbReadOnly" | "dbSchemas">;
  /** The only role. Default: all, at most 50. */
  readonly role?: string | null;
  /** Most relations, and most functions. Default: all. */
  readonly limit?: number;
  /** Default: false. */
  readonly hidesExtensionFunctions?: boolean;
}

/** Reads the matrix in a read-only transaction, whose waits for locks end after 2 s (55P03). */
export async function readAccess(database: Database, input: AccessInput): Promise<AccessMatrix> {
  const { config, role = null, limit, hidesExtensionFunctions = false } = input;
  const params = [
    ...[JSON.stringify(config.dbSchemas), JSON.stringify(config.dbExtraSearchPath)],
    ...[role ?? config.dbAnonRole, role, limit?.toString() ?? null],
    String(hidesExtensionFunctions),
  ];
  const statements: Statement[] = [
    { text: settingsQuery, params: [], use: "none" },
    { text: accessQuery, params, use: "rows" },
  ];
  const { rows } = await database.transaction(metadataBatch(statements, "rollback"));
  const facts: AccessFacts = JSON.parse(rows.at(-1)![0]![0]!);
  const cells = [
    ...facts.relations.flatMap((row) => relationCells(row, facts, config)),
    ...facts.functions.flatMap((row) => functionCells(row, facts)),
  ];
  cells.sort((a, b) => a.relation < b.relation ? -1 : a.relation > b.relation ? 1 : 0);
  return { roles: facts.roles, cells };
}

/** With an empty search path, PostgreSQL qualifies names. */
const settingsQuery = "select pg_catalog.set_config('search_path', '', true), " +
  "pg_catalog.set_config('jit', 'off', true), pg_catalog.set_config('lock_timeout', '2s', true)";

/** Actions with their bits and the letter of their policies. */
const actions = [["select", 1, "r"], ["insert", 8, "a"], ["update", 4, "w"], [
  "delete",
  16,
  "d",
]] as const;

type Verdict = Omit<AccessCell, "role" | "relation" | "action" | "visible">;

const all: Verdict = { may: "all", columns: null, policies: [], past: [], reason: null, sql: null };

function no(reason: string, ...sql: readonly string[]): Verdict {
  return { ...all, may: "no", reason, sql: sql.length === 0 ? null : sql.join("\n") };
}

function relationCells(
  row: AccessRelationRow,
  { roles, usage }: AccessFacts,
  { dbReadOnly }: AccessInput["config"],
): readonly AccessCell[] {
  const [schema, relation, events] = row;
  return actions.flatMap((action) =>
    roles.map(([, role], position): AccessCell => {
      const [word, bit] = action;
      const isRefused = word !== "select" && (dbReadOnly || (events & bit) === 0);
      const grant = `grant ${word} on ${relation} to ${role};`;
      const verdict = isRefused
        ? no(dbReadOnly ? "db-read-only" : "the view cannot be written")
        : usage[schema]![position]
        ? verdictOf(row, { action, position, grant })
        : withoutUsage(schema, role, isGranted(row, action, position) ? [] : [grant]);
      return { role, relation, action: word, ...verdict, visible: null };
    })
  );
}

function withoutUsage(schema: string, role: string, grants: readonly string[]): Verdict {
  return no(
    `no USAGE on schema ${schema}`,
    `grant usage on schema ${schema} to ${role};`,
    ...grants,
  );
}

type Action = typeof actions[number];

function isGranted(row: AccessRelationRow, [word, bit]: Action, position: number): boolean {
  const [, privileges, columns] = row[7][position]!;
  return (privileges & bit) !== 0 || (columns?.[word] ?? null) !== null;
}

/** Judges privileges, then relations below a view, then policies. */
function verdictOf(
  row: AccessRelationRow,
  { action, position, grant }: {
    readonly action: Action;
    readonly position: number;
    readonly grant: string;
  },
): Verdict {
  const [word, bit, letter] = action;
  const [, relation, , automatic, isOwnerView, columnCount, policies, rights] = row;
  const [hasPolicies, , columnGrants, below] = rights[position]!;
  if (!isGranted(row, action, position)) return no(`${word.toUpperCase()} is not granted`, grant);
  const [past, bounded, missing, writes] = below ?? [null, null, null, -1];
  if (missing !== null && word !== "insert") {
    return no("a relation below the view cannot be read", ...missing);
  }
  if ((automatic & bit) !== 0 && (writes & bit) === 0) {
    return no(`${word.toUpperCase()} is not granted on the table below the view`);
  }
  const list = columnGrants?.[word] ?? null;
  const columns = list?.length === columnCount ? null : list;
  const may = bounded === null ? "all" : "rows";
  if (past !== null) {
    const reason = `policies of ${past.join(", ")} do not apply below the view`;
    const sql = isOwnerView ? `alter view ${relation} set (security_invoker = true);` : null;
    return { ...all, may, columns, past, reason, sql };
  }
  if (bounded !== null) {
    return {
      ...all,
      may,
      columns,
      reason: `policies of ${bounded.join(", ")} apply below the view`,
    };
  }
  if (!hasPolicies) return { ...all, columns };
  const own = (policies ?? []).filter(([, , command, , , roles]) =>
    (command === "*" || command === letter) && (roles?.includes(position) ?? true)
  ).map(([name, permissive, , using, check]) => ({ name, permissive, using, check }));
  return own.some(({ permissive }) => permissive)
    ? { ...all, may: "rows", columns, policies: own }
    : {
      ...all,
      may: "none",
      columns,
      policies: own,
      reason: `no permissive policy for ${word.toUpperCase()}`,
    };
}

function functionCells(
  [schema, relation, executes]: AccessFacts["functions"][number],
  { roles, usage }: AccessFacts,
): readonly AccessCell[] {
  return roles.map(([, role], position): AccessCell => {
    const grants = executes[position] ? [] : [`grant execute on function ${relation} to ${role};`];
    const verdict = !usage[schema]![position]
      ? withoutUsage(schema, role, grants)
      : grants.length > 0
      ? no("EXECUTE is not granted", ...grants)
      : all;
    return { role, relation, action: "execute", ...verdict, visible: null };
  });
}
