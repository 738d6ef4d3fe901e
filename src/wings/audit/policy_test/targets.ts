/** Generates the requests of a caller to the exposed schemas, by the privileges of its role. @module */
import type { QualifiedName, Relation } from "../../../state/schema_cache/schema_cache.ts";
import { refusal } from "../../../database/connection/savepoint_database.ts";
import { compile, ident, sql } from "../../../base/sql/fragment.ts";
import { readAccess } from "../access/cells.ts";
import type { CaseRequest } from "./case_file.ts";
import type { CaseState } from "./case_handler.ts";
import { callsOf, type JsonRow, type RelationTarget, requestsOf } from "./requests.ts";

/** Returns the relations of all exposed schemas. */
export function exposedRelations({ appState: { snapshot } }: CaseState): readonly Relation[] {
  const { config: { dbSchemas }, cache } = snapshot;
  return dbSchemas.flatMap((schema) =>
    cache!.relationNames(schema).map((name) => cache!.relation({ schema, name })!)
      .filter((relation) => relation.schema === schema)
  );
}

const plain = (name: string) => name.replaceAll('"', "");

export const keyOf = ({ schema, name }: QualifiedName) => plain(`${schema}.${name}`);

const actions = ["select", "insert", "update", "delete"] as const;

/** The rows that requests to a relation address. */
export type RowsOf = (relation: Relation) => Promise<Pick<RelationTarget, "rows" | "visible">>;

/** Resolves with the requests, simplest first. Functions are only called in the first schema. */
export async function callerRequests(
  state: CaseState,
  role: string,
  rowsOf: RowsOf,
): Promise<readonly CaseRequest[]> {
  const { config, cache } = state.appState.snapshot;
  const schema = config.dbSchemas[0]!;
  const options = { schema, hasAggregates: config.dbAggregatesEnabled };
  const targets = await readTargets(state, role, rowsOf);
  const routines = cache!.routineNames(schema).flatMap((name) => cache!.routines({ schema, name }));
  return [
    ...targets.flatMap((each) => requestsOf(each, options)),
    // Volatile functions are not called, because a rollback may not undo their effects.
    ...routines.filter(({ volatility }) => volatility !== "volatile")
      .flatMap((each) => callsOf(each, targets)),
  ];
}

async function readTargets(
  state: CaseState,
  role: string,
  rowsOf: RowsOf,
): Promise<readonly RelationTarget[]> {
  const { config, cache } = state.appState.snapshot;
  const { cells } = await readAccess(state.database, { config, role });
  const granted = new Map(
    cells.filter(({ may }) => may !== "no").map((
      { relation, action, columns },
    ) => [`${plain(relation)} ${action}`, columns?.map(plain) ?? null]),
  );
  const targets = new Map<string, RelationTarget & { related: RelationTarget["related"] }>();
  for (const relation of exposedRelations(state)) {
    const key = keyOf(relation);
    const grant = (action: string) => {
      const columns = granted.get(`${key} ${action}`);
      const isGranted = (name: string) => columns?.includes(plain(name)) ?? columns === null;
      return relation.columns.map(({ name }) => name).filter(isGranted);
    };
    const [select = [], insert = [], update = [], all = []] = actions.map(grant);
    const grants = { select, insert, update, delete: all };
    const computed = (cache!.data.rowFunctions ?? []).filter((each) =>
      each.relation !== null && keyOf(each.relation) === key
    ).map(({ name }) => name);
    targets.set(key, { relation, grants, ...await rowsOf(relation), computed, related: [] });
  }
  for (const target of targets.values()) {
    const all = config.dbSchemas.flatMap((each) => cache!.relationships(target.relation, each));
    target.related = all.flatMap((relationship) => {
      const foreign = targets.get(keyOf(relationship.foreign));
      return foreign === undefined ? [] : [[relationship, foreign] as const];
    });
  }
  return [...targets.values()];
}

/** Returns the function that reads two rows of a relation. Rows of fixtures come first. */
export function fixtureRows({ database }: CaseState): RowsOf {
  return async ({ schema, name, isView }) => {
    const xid = sql`t.xmin::pg_catalog.text::pg_catalog.int8`;
    const order = sql`order by ${xid} = pg_catalog.txid_current() % 4294967296 desc`;
    const rows = sql`select t.* from ${ident(schema, name)} t ${isView ? sql`` : order} limit 2`;
    const query = compile(sql`select pg_catalog.json_agg(r.*) from (${rows}) r`).text;
    // If the query of a view fails, there are no rows.
    const all = await database.within(() => database.run(query)).catch(refusal);
    const sample: JsonRow[] = JSON.parse(typeof all === "string" ? "[]" : all[0]![0] ?? "[]");
    return { rows: sample, visible: sample[0] ?? null };
  };
}
