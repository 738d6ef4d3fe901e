/**
 * What the database says of the configuration and of its roles: which statements ask for it, and
 * what their answers mean.
 *
 * @module
 */
import { groupBy } from "../lib/group_by.ts";
import type { IsolationLevel, Statement } from "../database/database.ts";
import { compile, ident, param, sql } from "../sql/fragment.ts";
import type { DatabaseValues } from "./load.ts";
import { databaseName } from "./names.ts";
import { type Config, rows } from "./options.ts";

/** Names of the settings that may be set in the database, without prefix. */
const names: readonly string[] = rows
  .filter(([, { inDatabase }]) => inDatabase)
  .map(([key]) => databaseName(key));

/**
 * Lists the statements that ask for the configuration: a call of `db-pre-config`, if there is one, and
 * a query whose only value {@linkcode readValues} reads. They are meant for one transaction that is
 * rolled back. The connection role's settings in this database go before its settings in all of them,
 * and those before what the function has set.
 */
export function configStatements(
  { dbPreConfig, dialect }: Pick<Config, "dbPreConfig" | "dialect">,
): readonly Statement[] {
  const prefix = `${dialect.settingPrefix}.`;
  const settingNames = JSON.stringify(names.map((name) => prefix + name));
  const values = sql`
with requested as (select json_array_elements_text(${param(settingNames)}::json) as name),
own as (
  select split_part(setting, '=', 1) as name, substr(setting, strpos(setting, '=') + 1) as value,
    s.setdatabase <> 0 as here
  from pg_catalog.pg_db_role_setting s, unnest(s.setconfig) setting
  where s.setrole = (select oid from pg_catalog.pg_roles where rolname = current_user)
    and s.setdatabase in (
      0, (select oid from pg_catalog.pg_database where datname = current_database())
    )
)
select coalesce(json_object_agg(substr(name, length(${param(prefix)}) + 1), value)
  filter (where value is not null), '{}')::text
from (
  select name, coalesce(
    (select value from own where lower(own.name) = requested.name and here),
    (select value from own where lower(own.name) = requested.name and not here),
    case when ${param(String(dbPreConfig !== null))}::boolean
      then current_setting(name, true) end
  ) as value
  from requested
) found`;
  return [...preConfig(dbPreConfig), { ...compile(values), use: "rows" }];
}

function preConfig(name: Config["dbPreConfig"]): readonly Statement[] {
  if (name === null) return [];
  const called = name.schema === null ? ident(name.name) : ident(name.schema, name.name);
  return [{ ...compile(sql`select ${called}()`), use: "none" }];
}

/** Reads the answer of the last of {@linkcode configStatements}. */
export function readValues(answer: string): DatabaseValues {
  return new Map(Object.entries(JSON.parse(answer)));
}

/** What requests of a role begin with. */
export interface RoleDefaults {
  /** In the order of PostgreSQL's catalogue. */
  readonly settings: readonly (readonly [name: string, value: string])[];
  readonly isolation: IsolationLevel | null;
}

/** By the role's name; roles without settings of their own are left out. */
export type RoleDefaultsByRole = ReadonlyMap<string, RoleDefaults>;

/** The first version of PostgreSQL in which settings can be granted. */
const firstVersionWithGrants = 15;

/**
 * Gives the statement that asks for the settings of all roles that the connection role is a direct
 * member of, as far as it may set them. `version` is what PostgreSQL's `version()` says.
 */
export function roleStatement(version: string): Statement {
  const major = Number(/^PostgreSQL (\d+)/.exec(version)?.[1] ?? firstVersionWithGrants);
  const granted = major < firstVersionWithGrants
    ? sql`false`
    : sql`has_parameter_privilege(current_user, available.name, 'set')`;
  const query = sql`
select coalesce(json_agg(json_build_array(own.role, own.setting, own.value)), '[]')::text
from (
  select r.rolname as role, split_part(s, '=', 1) as setting, substr(s, strpos(s, '=') + 1) as value
  from pg_catalog.pg_roles r, unnest(r.rolconfig) s
  where r.oid in (
    select roleid from pg_catalog.pg_auth_members
    where member = (select oid from pg_catalog.pg_roles where rolname = current_user)
  )
) own
join pg_catalog.pg_settings available on lower(available.name) = lower(own.setting)
where available.context = 'user' or (available.context = 'superuser' and ${granted})`;
  return { ...compile(query), use: "rows" };
}

const isolationSetting = "default_transaction_isolation";

/** Reads the answer of {@linkcode roleStatement}; the isolation level is no setting like others. */
export function readRoles(answer: string): RoleDefaultsByRole {
  const found = JSON.parse(answer) as readonly (readonly [string, string, string])[];
  const byRole = groupBy(found, ([role]) => role);
  return new Map(Array.from(byRole, ([role, settings]) => [role, roleDefaults(settings)]));
}

function roleDefaults(found: readonly (readonly [string, string, string])[]): RoleDefaults {
  const isIsolation = (name: string) => name.toLowerCase() === isolationSetting;
  const isolation = found.find(([, name]) => isIsolation(name))?.[2];
  return {
    settings: found.filter(([, name]) => !isIsolation(name)).map((
      [, name, value],
    ) => [name, value]),
    isolation: isolation === undefined ? null : isolationLevel(isolation),
  };
}

/** What is no level of its own is what PostgreSQL makes of it: read committed. */
function isolationLevel(text: string): IsolationLevel {
  const level = text.toLowerCase();
  return level === "repeatable read" || level === "serializable" ? level : "read committed";
}
