/** The matrix of access: what each role of requests may do with each relation and function. @module */
import type { Config } from "../config/options.ts";
import { metadataBatch, type Statement } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import {
  type AccessFacts,
  type AccessPolicy,
  accessQuery,
  type AccessRow,
} from "./access_query.ts";

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
    ...facts.relations.flatMap((row) => cellsOf(row, relationActions, facts, config)),
    ...facts.functions.flatMap((row) => cellsOf(row, functionActions, facts, config)),
  ];
  cells.sort((a, b) => a.relation < b.relation ? -1 : a.relation > b.relation ? 1 : 0);
  return { roles: facts.roles, cells };
}

/** With an empty search path, PostgreSQL qualifies names. */
const settingsQuery = `select pg_catalog.set_config('search_path', '', true),
  pg_catalog.set_config('jit', 'off', true), pg_catalog.set_config('lock_timeout', '2s', true)`;

/** An action with its bit, the letter of its policies, and its words in GRANT. */
type Action = readonly [action: AccessCell["action"], bit: number, letter: string, grant: string];

const relationActions: readonly Action[] = [
  ["select", 1, "r", "select on"],
  ["insert", 8, "a", "insert on"],
  ["update", 4, "w", "update on"],
  ["delete", 16, "d", "delete on"],
];

const functionActions: readonly Action[] = [["execute", 1, "", "execute on function"]];

type Verdict = Omit<AccessCell, "role" | "relation" | "action" | "visible">;

const all: Verdict = { may: "all", columns: null, policies: [], past: [], reason: null, sql: null };

function no(reason: string, ...sql: readonly string[]): Verdict {
  return { ...all, may: "no", reason, sql: sql.length === 0 ? null : sql.join("\n") };
}

function cellsOf(
  row: AccessRow,
  actions: readonly Action[],
  { roles, usage }: AccessFacts,
  { dbReadOnly }: AccessInput["config"],
): readonly AccessCell[] {
  const [schema, relation, events] = row;
  return actions.flatMap((action) =>
    roles.map(([, role], position): AccessCell => {
      const [word, bit, , words] = action;
      const grant = isGranted(row, action, position)
        ? []
        : [`grant ${words} ${relation} to ${role};`];
      const verdict = bit > 1 && (dbReadOnly || (events & bit) === 0)
        ? no(dbReadOnly ? "db-read-only" : "the view cannot be written")
        : !usage[schema]![position]
        ? no(
          `no USAGE on schema ${schema}`,
          `grant usage on schema ${schema} to ${role};`,
          ...grant,
        )
        : grant.length > 0
        ? no(`${word.toUpperCase()} is not granted`, ...grant)
        : verdictOf(row, action, position);
      return { role, relation, action: word, ...verdict, visible: null };
    })
  );
}

function isGranted(row: AccessRow, [word, bit]: Action, position: number): boolean {
  const [, privileges, columns] = row[7][position]!;
  return (privileges & bit) !== 0 || (columns?.[word] ?? null) !== null;
}

/** Judges a granted action by the relations below a view, then by policies. */
function verdictOf(row: AccessRow, [word, bit, letter]: Action, position: number): Verdict {
  const [, relation, , automatic, isOwnerView, columnCount, policies, rights] = row;
  const [hasPolicies, , columnGrants, below] = rights[position]!;
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
  const own = (policies ?? []).filter(([command, roles]) =>
    (command === "*" || command === letter) && (roles?.includes(position) ?? true)
  ).map(([, , policy]) => policy);
  if (own.some(({ permissive }) => permissive)) {
    return { ...all, may: "rows", columns, policies: own };
  }
  const reason = `no permissive policy for ${word.toUpperCase()}`;
  return { ...all, may: "none", columns, policies: own, reason };
}
