/** Reads which relations are on workers of Citus. @module */

/** Condition on a row `o` of `pg_dist_partition`: workers have the table. Other tables are local to
 * the coordinator. */
export const isOnWorkers = `(o.partmethod <> 'n' or o.colocationid <> 0 or o.repmodel = 't')`;

/** Returns the beginning of a query. It defines `workers`: the tables that satisfy a condition on
 * `o`, and views of them. */
export const workersOf = (condition: string): string =>
  `with recursive workers (oid) as (
  select o.logicalrelid::pg_catalog.oid from pg_catalog.pg_dist_partition o where ${condition}
  union
  select r.ev_class from workers w
    join pg_catalog.pg_depend d on d.refclassid = 1259 and d.refobjid = w.oid and d.classid = 2618
    join pg_catalog.pg_rewrite r on r.oid = d.objid
)`;

/** Condition for tables that only workers have. A coordinator that is a node itself also has the
 * reference tables. */
const beyondCoordinator = `${isOnWorkers}
    and (o.repmodel <> 't' or not exists (select from pg_catalog.pg_dist_node n where n.groupid = 0))`;
const workerRelations = `${workersOf(beyondCoordinator)}
select pg_catalog.string_agg(oid::pg_catalog.text, ' ') as oids from workers`;

/** Expression whose text {@linkcode readWorkerRelations} reads. It contains a query as a text literal,
 * because the tables of Citus may not exist. */
export const workerRelationsText =
  "case when pg_catalog.to_regclass('pg_catalog.pg_dist_partition') is not null " +
  `then pg_catalog.query_to_xml('${workerRelations.replaceAll("'", "''")}', false, true, '') end`;

/** Returns the oids of relations that workers have; null without Citus. */
export function readWorkerRelations(text: string): ReadonlySet<number> | null {
  if (!text.includes("<row")) return null;
  const [, oids = ""] = /<oids>([\d ]+)</.exec(text) ?? [];
  return new Set(oids.split(" ").map(Number));
}
