/** Reads what a caller may do with the relations of the exposed schemas. @module */
import type { Relation } from "../../../state/schema_cache/schema_cache.ts";
import { compile, ident, sql } from "../../../base/sql/fragment.ts";
import { StatementError } from "../../../database/connection/savepoint_database.ts";
import { readAccess } from "../access/cells.ts";
import type { CaseCaller, CaseRequest } from "./case_file.ts";
import type { CaseState } from "./case_handler.ts";
import { callsOf, type Grants, type JsonRow, type RelationTarget, requestsOf } from "./requests.ts";

/** The rows that requests to a relation name. */
export type TargetRows = Pick<RelationTarget, "rows" | "visible">;

/** Returns the role of a caller; null without an anonymous role. */
export function roleOf(caller: CaseCaller | null, { appState }: CaseState): string | null {
  return caller === null ? appState.snapshot.config.dbAnonRole : caller.role;
}

/** Returns the relations of all exposed schemas. */
export function exposedRelations({ appState: { snapshot } }: CaseState): readonly Relation[] {
  const { config: { dbSchemas }, cache } = snapshot;
  return dbSchemas.flatMap((schema) =>
    cache!.relationNames(schema).map((name) => cache!.relation({ schema, name })!)
      .filter((relation) => relation.schema === schema)
  );
}

/** Returns the name of a relation or column as cells have it, without quotes. */
const plain = (name: string) => name.replaceAll('"', "");
const cellName = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  plain(`${schema}.${name}`);

/** Returns the names of views, without quotes. */
export function viewNames(state: CaseState): ReadonlySet<string> {
  return new Set(exposedRelations(state).filter(({ isView }) => isView).map(cellName));
}

/** Reads the relations of all exposed schemas, as a role reaches them. */
export async function readTargets(
  state: CaseState,
  role: string,
  rowsOf: (relation: Relation) => TargetRows | Promise<TargetRows>,
): Promise<readonly RelationTarget[]> {
  const { config, cache } = state.appState.snapshot;
  const { cells } = await readAccess(state.database, { config, role });
  const columnsOf = new Map(
    cells.filter(({ may }) => may !== "no").map((cell) => [
      `${plain(cell.relation)} ${cell.action}`,
      cell.columns?.map(plain),
    ]),
  );
  const found: (RelationTarget & { related: RelationTarget["related"] })[] = [];
  for (const relation of exposedRelations(state)) {
    const names = relation.columns.map(({ name }) => name);
    const [select, insert, update, all] = ["select", "insert", "update", "delete"].map((action) => {
      const key = `${cellName(relation)} ${action}`;
      const columns = columnsOf.get(key) ?? names;
      return columnsOf.has(key) ? names.filter((name) => columns.includes(plain(name))) : [];
    });
    const grants = { select, insert, update, delete: all } as Grants;
    const computed = (cache!.data.rowFunctions ?? []).filter((each) =>
      each.relation !== null && cellName(each.relation) === cellName(relation)
    ).map(({ name }) => name);
    found.push({ relation, grants, ...await rowsOf(relation), computed, related: [] });
  }
  const byName = new Map(found.map((target) => [cellName(target.relation), target]));
  for (const target of found) {
    const all = config.dbSchemas.flatMap((each) => cache!.relationships(target.relation, each));
    target.related = all.flatMap((relationship) => {
      const foreign = byName.get(cellName(relationship.foreign));
      return foreign ? [[relationship, foreign] as const] : [];
    });
  }
  return found;
}

/** Returns the function that generates a caller's requests to a relation or function of a cell. */
export async function requestReader(state: CaseState, caller: CaseCaller | null) {
  const { config, cache } = state.appState.snapshot;
  const role = roleOf(caller, state);
  const rowsOf = (relation: Relation) => fixtureRows(state, relation);
  const targets = role === null ? [] : await readTargets(state, role, rowsOf);
  const options = { schema: config.dbSchemas[0]!, hasAggregates: config.dbAggregatesEnabled };
  return (relation: string): readonly CaseRequest[] => {
    const routines = config.dbSchemas.flatMap((schema) =>
      cache!.routineNames(schema).flatMap((name) => cache!.routines({ schema, name }))
    );
    const name = plain(relation).replace(/\(.*/, "");
    return relation.endsWith(")")
      ? routines.filter((each) => cellName(each) === name).flatMap(callsOf)
      : targets.filter((each) => cellName(each.relation) === name)
        .flatMap((each) => requestsOf(each, options));
  };
}

/** Reads two rows of a relation, of the fixtures if there are some. */
export async function fixtureRows(
  { database }: CaseState,
  { schema, name, isView }: Relation,
): Promise<TargetRows> {
  const isOwn =
    sql`t.xmin::pg_catalog.text::pg_catalog.int8 = pg_catalog.txid_current() % 4294967296`;
  const order = isView ? sql`` : sql`order by ${isOwn} desc`;
  const rows = sql`select t.* from ${ident(schema, name)} t ${order} limit 2`;
  const query = compile(sql`select pg_catalog.json_agg(r) from (${rows}) r`).text;
  const all = await database.within(() => database.run(query)).catch((error) => {
    // A view may fail.
    if (error instanceof StatementError) return [[null]];
    throw error;
  });
  const found: JsonRow[] = JSON.parse(all[0]![0] ?? "[]");
  return { rows: found, visible: found[0] ?? null };
}
