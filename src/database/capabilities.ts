/**
 * Finds out which parts of PostgreSQL a server has. Engines that speak PostgreSQL's protocol report its
 * version without having all of it, so that only trying tells.
 *
 * @module
 */
import { DatabaseError } from "../errors/service_error.ts";
import type { Batch, BatchResult, Statement } from "./batch.ts";

/** A part of PostgreSQL that the service uses. */
export type Capability = keyof typeof capabilityFacts;

/** Facts about a capability, as sentences for operators. */
export interface CapabilityFacts {
  readonly meaning: string;
  /** How the service works without it. */
  readonly effect: string;
  /** Whether the service cannot work without it. Default: false. */
  readonly isRequired?: boolean;
}

const facts = (row: CapabilityFacts): CapabilityFacts => row;

/** All capabilities. */
export const capabilityFacts = {
  "local-settings": facts({
    meaning: "settings of a transaction, by set_config(…, true)",
    effect: "requests would see the claims of other requests",
    isRequired: true,
  }),
  "roles": facts({
    meaning: "the role of a transaction, by set_config('role', …, true)",
    effect: "requests would have the privileges of the login role",
    isRequired: true,
  }),
  "implicit-transactions": facts({
    meaning: "one transaction for all statements up to a Sync message",
    effect: "all transactions have BEGIN and COMMIT, and are not pipelined",
  }),
  "isolation": facts({
    meaning: "BEGIN ISOLATION LEVEL READ COMMITTED",
    effect: "transactions have the isolation level of the engine, and statements are unnamed",
  }),
  "notify": facts({
    meaning: "LISTEN, and notifications that arrive",
    effect: "notifications cause no reload; db-schema-watch notices changes of the schema",
  }),
  "lateral": facts({
    meaning: "LATERAL joins",
    effect: "embeds fail with the error of the engine",
  }),
  "json": facts({
    meaning: "row_to_json and json_agg",
    effect: "responses in JSON fail with the error of the engine",
  }),
  "explain-json": facts({
    meaning: "EXPLAIN (FORMAT JSON)",
    effect:
      "count=planned, count=estimated, db-max-cost and plans fail with the error of the engine",
  }),
  "lsn": facts({
    meaning: "positions in the write-ahead log, of primaries and standbys",
    effect: "bookmarks of reads on standbys cannot be compared",
  }),
  "catalogue": facts({
    meaning: "all queries of the schema cache",
    effect: "the parts of the schema cache that cannot be read are empty",
  }),
  "cancel": facts({
    meaning: "cancel requests",
    effect: "statements run to their end, or to statement_timeout",
  }),
} as const;

/** Names of all capabilities. */
export const capabilityNames = Object.keys(capabilityFacts) as readonly Capability[];

/** Whether a text is an item of `db-capabilities`: `+` or `-` and a name. */
export function isCapabilityOverride(text: string): boolean {
  return /^[+-]/.test(text) && Object.hasOwn(capabilityFacts, text.slice(1));
}

/** Whether `db-capabilities`, or the result of a probe in its form, takes a capability away. */
export function lacks(capabilities: readonly string[], capability: Capability): boolean {
  return capabilities.includes(`-${capability}`);
}

type StatementRows = BatchResult["rows"];

/** How one capability is tried. */
interface Probe {
  readonly capability: Capability;
  readonly statements: readonly Statement[];
  /** Returns whether the rows of its statements show the capability. */
  readonly isShown: (rows: StatementRows) => boolean;
}

const query = (text: string): Statement => ({ text, params: [], use: "rows" });
const command = (text: string): Statement => ({ text, params: [], use: "none" });

/** In the order in which one batch can hold all of them: the last but one ends its transaction. */
const probes: readonly Probe[] = [
  {
    capability: "isolation",
    statements: [query("select pg_catalog.current_setting('transaction_isolation')")],
    isShown: ([level]) => level?.[0]?.[0] === "read committed",
  },
  {
    capability: "lateral",
    statements: [query(
      "select one.b from (values (1)) as v (a) cross join lateral (select v.a as b) as one",
    )],
    isShown: ([embedded]) => embedded?.[0]?.[0] === "1",
  },
  {
    capability: "json",
    statements: [query(
      "select coalesce(pg_catalog.json_agg(pg_catalog.row_to_json(one)), '[]')::text " +
        "from (values (1)) as one (a)",
    )],
    isShown: ([aggregate]) => /^\[\{"a": ?1\}\]$/.test(aggregate?.[0]?.[0] ?? ""),
  },
  {
    capability: "explain-json",
    statements: [query("explain (format json) select 1")],
    isShown: ([plan]) => (plan ?? []).some(([line]) => line?.includes('"Plan"')),
  },
  {
    capability: "lsn",
    statements: [query(
      "select case when pg_catalog.pg_is_in_recovery() then pg_catalog.pg_last_wal_replay_lsn() " +
        "else pg_catalog.pg_current_wal_insert_lsn() end is not null",
    )],
    isShown: ([known]) => known?.[0]?.[0] === "t",
  },
  {
    capability: "roles",
    statements: [query("select pg_catalog.set_config('role', current_user::text, true)")],
    isShown: ([role]) => typeof role?.[0]?.[0] === "string",
  },
  {
    capability: "local-settings",
    statements: [
      query("select pg_catalog.set_config('svc.probe', 'x', true)"),
      query("select pg_catalog.current_setting('svc.probe', true)"),
      command("commit"),
      query("select pg_catalog.current_setting('svc.probe', true)"),
    ],
    isShown: ([, inside, , after]) => inside?.[0]?.[0] === "x" && !after?.[0]?.[0],
  },
  {
    // Some poolers add Sync messages: later statements would have the privileges of the login role.
    capability: "implicit-transactions",
    statements: [
      query("select pg_catalog.set_config('svc.probe', 'y', true)"),
      query("select pg_catalog.current_setting('svc.probe', true)"),
    ],
    isShown: ([, inside]) => inside?.[0]?.[0] === "y",
  },
];

/** Connections that the server permits; null where that is unknown. */
const maxConnectionsQuery = query("select pg_catalog.current_setting('max_connections', true)");

/** Result of {@linkcode probeCapabilities}. */
export interface CapabilityReport {
  /** The capabilities that are missing, with the reasons. */
  readonly missing: ReadonlyMap<Capability, string>;
  readonly maxConnections: number | null;
}

/** How to run the probes. */
export interface ProbeContext {
  readonly run: (batch: Batch) => Promise<BatchResult>;
  /** Capabilities that are not tried: `db-capabilities` decides about them. */
  readonly excluded: ReadonlySet<Capability>;
  /** Called when the engine refuses BEGIN with an isolation level: later batches begin without one. */
  readonly onIsolationRefused: () => void;
}

/**
 * Tries all capabilities that SQL can show, in one batch. If it fails, tries each in a transaction of its
 * own. Rejects with failures that say nothing about the engine, such as a lost connection.
 */
export async function probeCapabilities(context: ProbeContext): Promise<CapabilityReport> {
  const tried = probes.filter(({ capability }) => !context.excluded.has(capability));
  const begin = beginStatement({ setsIsolation: !context.excluded.has("isolation") });
  const rows = await rowsOf(context, [
    begin,
    maxConnectionsQuery,
    ...tried.flatMap(({ statements }) => statements),
  ]);
  if (!(rows instanceof DatabaseError) && areAllShown(tried, rows.slice(2))) {
    return { missing: new Map(), maxConnections: numberOf(rows[1]?.[0]?.[0]) };
  }
  const missing = new Map<Capability, string>();
  if (rows instanceof DatabaseError && rows.statement <= beginPosition) {
    missing.set("isolation", rows.message);
    context.onIsolationRefused();
  }
  for (const probe of tried) {
    if (missing.has(probe.capability)) continue;
    const isBlock = probe.capability !== "implicit-transactions";
    const setsIsolation = begin.text !== anyLevel && !missing.has("isolation");
    const before = isBlock ? [beginStatement({ setsIsolation })] : [];
    const reason = await reasonOf(context, probe, before);
    if (reason !== null) missing.set(probe.capability, reason);
  }
  return { missing, maxConnections: null };
}

/** `DatabaseError.statement` of the BEGIN; it is less where the connection adds one. */
const beginPosition = 0;

const anyLevel = "begin read only";

function beginStatement({ setsIsolation }: { readonly setsIsolation: boolean }): Statement {
  return command(setsIsolation ? "begin isolation level read committed read only" : anyLevel);
}

/** Tries one capability. Resolves with the reason why it is missing; null if it is not. */
async function reasonOf(
  context: ProbeContext,
  { statements, isShown }: Probe,
  before: readonly Statement[],
): Promise<string | null> {
  const endsBlock = statements.some(({ text }) => text === end.text);
  const after = before.length === 0 || endsBlock ? [] : [end];
  const rows = await rowsOf(context, [...before, ...statements, ...after]);
  if (rows instanceof DatabaseError) return rows.message;
  return isShown(rows.slice(before.length)) ? null : "the answer is not that of PostgreSQL";
}

const end = command("commit");

function areAllShown(tried: readonly Probe[], rows: StatementRows): boolean {
  let position = 0;
  return tried.every(({ statements, isShown }) => {
    const start = position;
    position += statements.length;
    return isShown(rows.slice(start, position));
  });
}

/** Runs statements without a BEGIN of their own; resolves with their rows, or with the error by which the engine refuses one. */
async function rowsOf(
  { run }: ProbeContext,
  statements: readonly Statement[],
): Promise<StatementRows | DatabaseError> {
  try {
    const { rows } = await run({
      access: "read only",
      transaction: { form: "implicit" },
      statements,
      body: "hold",
      retry: "safe",
      planContext: null,
      kind: null,
    });
    return rows;
  } catch (error) {
    if (error instanceof DatabaseError && !isPassing(error)) return error;
    throw error;
  }
}

/** Whether an error shows that the engine cannot run a statement: SQLSTATEs of the classes 0A and 42. */
export function isUnsupported(error: unknown): boolean {
  return error instanceof DatabaseError && unsupportedClass.test(error.failure.sqlstate);
}

/** Begins the SQLSTATEs of statements that an engine does not have. */
export const unsupportedClass = /^(?:0A|42)/;

/** Whether an error says nothing about the engine: connection, conflict, resources, operator, system. */
function isPassing({ failure: { sqlstate } }: DatabaseError): boolean {
  return /^(?:08|40|53|57|58)/.test(sqlstate);
}

function numberOf(text: string | null | undefined): number | null {
  return text !== null && text !== undefined && /^[0-9]+$/.test(text) ? Number(text) : null;
}
