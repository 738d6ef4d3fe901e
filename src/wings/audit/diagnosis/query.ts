/** The query of the diagnosis, and the shape of its result. @module */
import type { Statement } from "../../../database/transaction.ts";
import { type Config, valueOf } from "../../../state/config/options.ts";
import { notifyPattern, reloadTriggerQuery } from "../../../state/schema_cache/reload_trigger.ts";
import { distributedChecks, workersQuery } from "./queries/distributed_checks.ts";
import { type FunctionInput, inputs, maxRoles } from "./queries/inputs.ts";
import { costlyPolicies, indexChecks, indexInputs } from "./queries/index_checks.ts";
import { liveCheck, liveInputs } from "./queries/live_checks.ts";
import { policyChecks, policyInputs } from "./queries/policy_checks.ts";
import { relationChecks, relationInputs } from "./queries/relation_checks.ts";
import { roleChecks } from "./queries/role_checks.ts";
import { schemaChecks } from "./queries/schema_checks.ts";

/** A finding in the catalogue, without level and message. Names are quoted for SQL. */
export type CatalogueRow = readonly [
  name: string,
  /** Whether the finding concerns the anonymous role. */
  anonymous: boolean,
  subject: string,
  roles: readonly string[],
  objects: readonly (string | null)[],
  statements: readonly string[],
];

export interface Catalogue {
  readonly rows: readonly CatalogueRow[];
  /** Number of the version, such as 180004. */
  readonly version: number;
  readonly isStandby: boolean;
  /** Whether `default_transaction_read_only` is on for the login role. */
  readonly isReadOnly: boolean;
  /** The login role. The names of roles are quoted for SQL. */
  readonly login: string;
  /** Number of roles that the login role may set and that were not checked, because there are too many. */
  readonly uncheckedRoles: number;
  /** User-defined schemas, unquoted. */
  readonly schemas: readonly string[];
  /** User-defined schemas that have a relation or a function, at most ten. */
  readonly filledSchemas: readonly string[];
  /** Functions without required parameters, at most a thousand, unquoted: `schema.name`. */
  readonly functions: readonly string[];
  /** Request roles without `statement_timeout`; empty if the login role has a timeout. */
  readonly rolesWithoutTimeout: readonly string[];
  /** Whether an enabled event trigger sends notifications on `db-channel`. */
  readonly hasReloadTrigger: boolean;
  /** Relations of exposed schemas that `mcp-path` hides, quoted for SQL. */
  readonly hiddenRelations: readonly string[];
  readonly policies: readonly CostlyPolicy[];
  /** Functions of PostgreSQL whose result differs from row to row. */
  readonly volatileFunctions: readonly string[];
}

/** A policy that calls functions, or that uses columns without an index. Names are quoted for SQL. */
export interface CostlyPolicy {
  /** `doc_own on api.doc` */
  readonly label: string;
  readonly policy: string;
  readonly relation: string;
  readonly owner: string;
  readonly rows: number;
  /** `USING` and `WITH CHECK`, in the form of `pg_get_expr`. */
  readonly conditions: readonly (string | null)[];
  /** User-defined functions whose result is the same for all rows. */
  readonly calls: readonly string[];
  /** Whether the policy calls a user-defined function that is VOLATILE. */
  readonly isVolatile: boolean;
  readonly isPartitioned: boolean;
  /** Columns without an index, by the text of the operand for which an index could be used. */
  readonly columns: Readonly<Record<string, string>>;
}

/** The options that the query depends on. */
export type DiagnosisConfig = Pick<
  Config,
  | "dbSchemas"
  | "dbExtraSearchPath"
  | "dbAnonRole"
  | "dbPreRequest"
  | "dbRootSpec"
  | "dbChannel"
>;

/** Returns the statements of a diagnosis. Their values are {@linkcode Catalogue} and, with Citus, further rows. */
export function diagnosisStatements(
  config: DiagnosisConfig,
  { isDistributed }: { readonly isDistributed: boolean },
): readonly Statement[] {
  const params = [
    JSON.stringify(config.dbSchemas),
    JSON.stringify(config.dbExtraSearchPath),
    config.dbAnonRole,
    JSON.stringify(functionInputs(config)),
    notifyPattern(config.dbChannel),
    relationOfPath(valueOf(config, "mcp-path") as string | null),
  ];
  return [
    { text: settingsQuery, params: [], use: "none" },
    { text: diagnosisQuery(isDistributed ? distributedChecks : []), params, use: "rows" },
    ...isDistributed
      ? [{ text: workersQuery, params: params.slice(0, 3), use: "rows" } as const]
      : [],
  ];
}

/** Statement whose value is `t` if tables are distributed by Citus 11 or later. */
export const distributedStatement: Statement = {
  text:
    "select pg_catalog.to_regprocedure('pg_catalog.citus_check_connection_to_node(text, int)') is not null",
  params: [],
  use: "rows",
};

/** Returns the segment of a path with one segment, which may name a relation; null for other paths. */
function relationOfPath(path: string | null): string | null {
  const [, segment, ...more] = path?.split("/") ?? [];
  return segment === undefined || more.length > 0 ? null : segment;
}

function functionInputs({ dbPreRequest, dbRootSpec }: DiagnosisConfig): readonly FunctionInput[] {
  const inputs = [["db-pre-request", dbPreRequest], ["db-root-spec", dbRootSpec]] as const;
  return inputs.flatMap(([key, name]): FunctionInput[] =>
    name === null ? [] : [[key, name.schema, name.name]]
  );
}

/** These settings run joins in the order of the text, because estimates for common table expressions
 * are wrong. This halves the time with 1,000 tables. */
const settingsQuery = "select pg_catalog.set_config(name, value, true) from (values " +
  "('jit', 'off'), ('join_collapse_limit', '1'), ('from_collapse_limit', '1'), " +
  // Limits the wait for a worker that does not answer, which is otherwise half a minute for each role.
  "('citus.node_connection_timeout', '3000')" +
  ") settings (name, value)";

const ownChecks = [...policyChecks, ...indexChecks, liveCheck];
const commonChecks = [...roleChecks, ...schemaChecks, ...relationChecks, ...ownChecks];

/** Renders the query with the common checks and further checks. */
function diagnosisQuery(checks: readonly string[]): string {
  return `with recursive ${inputs},
${[relationInputs, policyInputs, indexInputs, liveInputs].map((text) => text.trim()).join(",\n")},
findings (name, anonymous, subject, roles, objects, statements) as (
${[...commonChecks, ...checks].join("\nunion all\n")}
)${catalogueQuery}`;
}

const catalogueQuery = `,
user_schemas as (
  select n.oid, n.nspname from pg_namespace n
  where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
)
select json_build_object(
  'rows', coalesce((
    select json_agg(json_build_array(name, anonymous, subject, roles, objects, statements)
      order by name, not anonymous, subject)
    from findings
  ), '[]'),
  'version', (select number from version),
  'isStandby', pg_is_in_recovery(),
  'isReadOnly', coalesce((select reset_val = 'on' from pg_settings
    where name = 'default_transaction_read_only'), false),
  'login', (select name from login),
  'uncheckedRoles', (select greatest(count(*) - ${maxRoles}, 0) from takeable),
  'schemas', (select coalesce(json_agg(nspname order by nspname), '[]') from user_schemas),
  'filledSchemas', (
    select coalesce(json_agg(filled.nspname), '[]') from (
      select u.nspname from user_schemas u
      where exists (
          select from pg_class c
          where c.relnamespace = u.oid and c.relkind in ('r', 'p', 'v', 'm', 'f')
        ) or exists (
          select from pg_proc p where p.pronamespace = u.oid
            and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
        )
      order by u.nspname limit 10
    ) filled
  ),
  'functions', (
    select coalesce(json_agg(named.name), '[]') from (
      select u.nspname || '.' || p.proname as name
      from pg_proc p join user_schemas u on u.oid = p.pronamespace
      where p.prokind = 'f' and p.pronargs = p.pronargdefaults and $4::text <> '[]'
      limit 1000
    ) named
  ),
  'rolesWithoutTimeout', (
    select coalesce(json_agg(r.name order by r.name), '[]') from roles r
    where current_setting('statement_timeout') = '0'
      and not exists (select from unnest(r.rolconfig) c where c ~* '^statement_timeout=0*[1-9]')
  ),
  'hasReloadTrigger', (${reloadTriggerQuery.replace("$1", "$5::text")})::boolean,
  'hiddenRelations', (
    select coalesce(json_agg(s.name || '.' || quote_ident(c.relname) order by s.name), '[]')
    from schemas s join pg_class c on c.relnamespace = s.oid
    where s.exposed and c.relname = $6::text and c.relkind in ('r', 'p', 'v', 'm', 'f')
  ),
  'policies', ${costlyPolicies},
  'volatileFunctions', (
    select json_agg(distinct quote_ident(p.proname)) from pg_proc p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.provolatile = 'v'
  )
)::text`;
