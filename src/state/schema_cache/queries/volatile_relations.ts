/** Finds relations and functions whose use may have an effect: they run a `VOLATILE` function, or
 * one that may change the session. @module */
import { isNotOfExtension } from "./extensions.ts";
import type { SchemaCacheData } from "../schema_cache.ts";

export interface VolatileResult {
  readonly relations: readonly number[];
  readonly functions: SchemaCacheData["volatileFunctions"];
  readonly stableWithoutArguments: SchemaCacheData["stableWithoutArguments"];
  /** Relations whose reads run a function that may change the session. `sessionWrites` are relations
   * whose writes do. */
  readonly sessionReads: readonly number[];
  readonly sessionWrites: readonly number[];
  readonly sessionFunctions: SchemaCacheData["sessionFunctions"];
}

/** Matches the fields of an expression tree that name a relation or a function. The groups do not
 * capture, which would double the time. */
const namedObjects = "':(?:relid|funcid|aggfnoid|winfnoid|tsmhandler) [0-9]+'";

/** Returns a condition: a function of the kind runs without being named. */
function surroundingsRun(kind: "volatile" | "session"): string {
  return `exists (select from ${kind}_objects where kind = 'domain')
    or exists (select from reached where oid in (select oid from ${kind}_functions))`;
}

/** Returns SQL for the exposed relations that run a function of the kind when they are read or written. */
function relationsThatRun(kind: "volatile" | "session", use: "relation" | "write"): string {
  return `(
    select coalesce(json_agg(c.oid::int8), '[]') from pg_class c, surroundings s
    where c.relnamespace = any ($1::regnamespace[]) and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and (s.run_${kind} or c.oid in (select oid from ${kind}_objects where kind = '${use}'))
  )`;
}

/** Returns SQL for names of functions of the kind with one argument; null if any statement may run one. */
function functionNames(kind: "volatile" | "session", others = "false"): string {
  return `case when not (select run_${kind} from surroundings) then (
    select coalesce(json_agg(distinct p.proname), '[]') from pg_proc p
    where p.oid in (select oid from ${kind}_functions) and p.oid >= 16384 and (
      p.pronargs > 0 and p.pronargs - p.pronargdefaults <= 1 or p.proname ~ 'to_ts(vector|query)$'
      or ${others}
    )
  ) end`;
}

/**
 * Parameters: exposed schemas as `regnamespace[]`.
 *
 * The query finds functions and relations in the stored expression trees, because `pg_depend` has no
 * rows for built-in functions. Trees escape the text of names, so that no name can hide a function.
 * From functions declared volatile and foreign tables, `volatile_objects` follows their users at any
 * depth:
 *
 * - A view uses what its query names. A materialized view is read like a table.
 * - A table uses what its policies for `SELECT` name, and its children by inheritance or partition.
 * - A function uses the default expressions of its arguments, an aggregate its support functions.
 *
 * The query trusts functions declared `STABLE` or `IMMUTABLE`. PostgreSQL itself makes sure that
 * expressions of generated columns and indexes are immutable.
 *
 * A statement can use operators, comparisons for sorting and hashing, casts, input and output of
 * types, and checks of domains without naming a function. If one of these is volatile, the query
 * returns every relation. PostgreSQL ignores casts from and to domains. A cast of an extension matters
 * if an object outside of extensions uses the source type: `postgis_topology` has a volatile cast.
 *
 * `session_objects` finds users of functions that may change the session in the same way. It also
 * finds tables whose writes run such a function: in defaults, also of domains, in checks, triggers,
 * indexes, policies, partition keys and rules. The functions are user-defined functions in SQL or a
 * procedural language, even if they are declared stable, and built-in functions that set, lock or
 * execute a text. The query trusts functions of extensions.
 */
export const volatileRelationsQuery = `
with recursive views (oid, schema, tree) as not materialized (
  select r.ev_class, c.relnamespace, r.ev_action::text
  from pg_rewrite r join pg_class c on c.oid = r.ev_class
  where r.ev_type = '1' and c.relkind = 'v'
),
trees (kind, oid, tree) as (
  select 'relation', oid, tree from views
  where oid >= 16384 or schema = any ($1::regnamespace[])
  union all
  select 'relation', p.polrelid, p.polqual::text
  from pg_policy p join pg_class c on c.oid = p.polrelid
  where p.polcmd in ('r', '*') and c.relrowsecurity
  union all
  -- What reads run, writes run, too.
  select 'write', p.polrelid, concat(case when p.polcmd not in ('r', '*') then p.polqual end, p.polwithcheck)
  from pg_policy p join pg_class c on c.oid = p.polrelid
  where c.relrowsecurity and (p.polcmd not in ('r', '*') or p.polwithcheck is not null)
  union all
  select 'rule', ev_class, concat(ev_action, ev_qual) from pg_rewrite where ev_type <> '1'
  union all
  select 'function', oid, proargdefaults::text from pg_proc where proargdefaults is not null
  union all
  select 'domain', contypid, conbin::text from pg_constraint where contypid <> 0
),
named (kind, oid, field) as (
  select t.kind, t.oid, m[1] from trees t cross join regexp_matches(t.tree, ${namedObjects}, 'g') m
  union
  -- Trees of the many built-in views are long, so only those that a view names are read.
  select 'relation', v.oid, m[1]
  from (select distinct split_part(field, ' ', 2)::oid from named where field like ':relid %') u (oid)
    join views v on v.oid = u.oid and v.oid < 16384
    cross join regexp_matches(v.tree, ${namedObjects}, 'g') m
),
uses (kind, oid, used_kind, used) as materialized (
  select kind, oid, case when field like ':relid %' then 'relation' else 'function' end,
    split_part(field, ' ', 2)::oid
  from named
  union all
  select 'relation', inhparent, 'relation', inhrelid from pg_inherits
  union all
  select 'function', a.aggfnoid, 'function', s.oid
  from pg_aggregate a
    cross join unnest(array[
      a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn,
      a.aggminvtransfn, a.aggmfinalfn
    ]::oid[]) s (oid)
  -- No aggregate of PostgreSQL uses such a function.
  where a.aggfnoid >= 16384
),
volatile_objects (kind, oid) as (
  select 'function', oid from pg_proc where provolatile = 'v'
  union
  select 'relation', oid from pg_class where relkind = 'f'
  union
  select u.kind, u.oid from volatile_objects v join uses u on u.used_kind = v.kind and u.used = v.oid
),
volatile_functions (oid) as materialized (
  select oid from volatile_objects where kind = 'function'
),
session_seeds (oid) as materialized (
  select p.oid from pg_proc p
  where p.oid < 16384 and (
    p.proname in ('set_config', 'setseed', 'ts_stat', 'ts_rewrite')
    -- A regular expression would take most of the time of the query.
    or p.proname like '%advisory_lock%' or p.proname like '%advisory_unlock%' or p.proname like '%\\_to\\_xml%'
  )
  union all
  select p.oid from pg_proc p join pg_language l on l.oid = p.prolang
  where p.oid >= 16384 and l.lanname not in ('internal', 'c')
    and ${isNotOfExtension("pg_proc", "p")}
),
own_objects (relid, classid, objid, tree) as (
  select adrelid, 'pg_attrdef'::regclass, oid, adbin::text from pg_attrdef
  union all
  select polrelid, 'pg_policy'::regclass, oid, concat(polqual, polwithcheck) from pg_policy
  union all
  select conrelid, 'pg_constraint'::regclass, oid, conbin::text from pg_constraint where contype = 'c'
  union all
  select tgrelid, 'pg_trigger'::regclass, oid, tgqual::text from pg_trigger where not tgisinternal
  union all
  select ev_class, 'pg_rewrite'::regclass, oid, null from pg_rewrite
  union all
  select indrelid, 'pg_class'::regclass, indexrelid, null from pg_index
  union all
  select a.attrelid, 'pg_type'::regclass, t.oid, t.typdefaultbin::text
  from pg_attribute a join pg_type t on t.oid = a.atttypid
  where t.typtype = 'd' and t.typdefaultbin is not null and a.attnum > 0 and not a.attisdropped
),
session_uses (kind, oid, used_kind, used) as materialized (
  select kind, oid, used_kind, used from uses
  union all
  select 'write', oid, case used_kind when 'relation' then 'write' else used_kind end, used
  from uses where kind in ('relation', 'rule')
  union all
  select 'key', p.partrelid, 'function', d.refobjid
  from pg_partitioned_table p
    join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = p.partrelid
  where d.refclassid = 'pg_proc'::regclass
  union all
  select 'write', partrelid, 'key', partrelid from pg_partitioned_table
  union all
  select k.kind, inhrelid, 'key', inhparent from pg_inherits cross join (values ('key'), ('write')) k (kind)
  union all
  select 'write', o.relid, 'function', d.refobjid
  from own_objects o join pg_depend d on d.classid = o.classid and d.objid = o.objid
  where d.refclassid = 'pg_proc'::regclass
  union all
  select 'write', o.relid, 'function', s.oid from own_objects o
    join session_seeds s on s.oid < 16384 and o.tree like '%:funcid ' || s.oid || ' %'
  where o.tree is not null
  union all
  select 'write', confrelid, 'write', conrelid from pg_constraint
  where contype = 'f' and (confdeltype not in ('a', 'r') or confupdtype not in ('a', 'r'))
),
session_objects (kind, oid) as (
  select 'function', oid from session_seeds
  union
  select u.kind, u.oid from session_objects s join session_uses u
    on u.used_kind = s.kind and u.used = s.oid
),
session_functions (oid) as materialized (
  select oid from session_objects where kind = 'function'
),
reached (oid) as materialized (
  select oprcode::oid from pg_operator
  union all
  select p.amproc
  from pg_amproc p
    join pg_opfamily f on f.oid = p.amprocfamily
    join pg_am m on m.oid = f.opfmethod
  where m.amname in ('btree', 'hash')
  union all
  select c.castfunc
  from pg_cast c
    join pg_type s on s.oid = c.castsource
    join pg_type t on t.oid = c.casttarget
  where s.typtype <> 'd' and t.typtype <> 'd'
    and (s.oid < 16384 or exists (
      select from pg_depend d
      where d.refclassid = 'pg_type'::regclass and d.refobjid in (s.oid, s.typarray)
        and d.deptype = 'n'
        and not exists (
          select from pg_depend e
          where e.classid = d.classid and e.objid = d.objid and e.deptype = 'e'
        )
    ))
  union all
  select unnest(array[typinput, typoutput]) from pg_type
),
surroundings (run_volatile, run_session) as materialized (
  select ${surroundingsRun("volatile")}, ${surroundingsRun("session")}
)
select json_build_object(
  'relations', ${relationsThatRun("volatile", "relation")},
  'sessionReads', ${relationsThatRun("session", "relation")},
  'sessionWrites', ${relationsThatRun("session", "write")},
  'sessionFunctions', ${functionNames("session")},
  -- No built-in function that is volatile takes a row.
  'functions', ${functionNames("volatile", "p.provolatile <> 'v'")},
  'stableWithoutArguments', (
    select coalesce(json_agg(json_build_object('schema', n.nspname, 'name', p.proname)), '[]')
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where p.oid >= 16384 and p.prokind = 'f' and p.pronargs = p.pronargdefaults
      and p.oid not in (select oid from volatile_functions)
  )
)::text`;
