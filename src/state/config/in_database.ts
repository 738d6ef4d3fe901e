/** Reads configuration and role settings from the database: the statements, and their results.
 * @module */
import { groupBy } from "../../base/lib/group_by.ts";
import type { Dialect } from "../../base/dialect.ts";
import {
  type IsolationLevel,
  loginSearchPath,
  type Statement,
} from "../../database/transaction.ts";
import { compile, ident, param, sql } from "../../base/sql/fragment.ts";
import type { DatabaseValues } from "./load.ts";
import { databaseName } from "./names.ts";
import { type Config, rowsOf } from "./options.ts";

/** The settings of the login role, both for this database and for all databases. */
const ownSettings = sql`from pg_catalog.pg_db_role_setting s, pg_catalog.unnest(s.setconfig) setting
where s.setrole = (select oid from pg_catalog.pg_roles where rolname = current_user)
  and s.setdatabase in (
    0, (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
  )`;

/**
 * Returns the statements that read the configuration: a call of `db-pre-config`, if set, and a
 * query. {@linkcode readValues} parses the query's only value. The caller runs the statements in
 * one transaction and rolls back.
 *
 * The authenticator role's settings for this database override its settings for all databases. Both
 * override the values that `db-pre-config` sets.
 */
export function configStatements(
  { dbPreConfig, dialect, wingOptions }: Pick<Config, "dbPreConfig" | "dialect" | "wingOptions">,
): readonly Statement[] {
  const prefix = `${dialect.settingPrefix}.`;
  const settable = rowsOf({ wingOptions }).filter(([, { inDatabase }]) => inDatabase);
  const settingNames = JSON.stringify(settable.map(([key]) => prefix + databaseName(key)));
  const values = sql`
with requested as (select pg_catalog.json_array_elements_text(${
    param(settingNames)
  }::pg_catalog.json) as name),
own as (
  select pg_catalog.split_part(setting, '=', 1) as name, pg_catalog.substr(setting, pg_catalog.strpos(setting, '=') + 1) as value,
    s.setdatabase <> 0 as here
  ${ownSettings}
)
select coalesce(pg_catalog.json_object_agg(pg_catalog.substr(name, pg_catalog.length(${
    param(prefix)
  }) + 1), value)
  filter (where value is not null), '{}')::pg_catalog.text
from (
  select name, coalesce(
    (select value from own where pg_catalog.lower(own.name) = requested.name and here),
    (select value from own where pg_catalog.lower(own.name) = requested.name and not here),
    case when ${param(String(dbPreConfig !== null))}::boolean
      then pg_catalog.current_setting(name, true) end
  ) as value
  from requested
) found`;
  return [...preConfig(dbPreConfig), { ...compile(values), use: "rows" }];
}

function preConfig(name: Config["dbPreConfig"]): readonly Statement[] {
  if (name === null) return [];
  const called = name.schema === null ? ident(name.name) : ident(name.schema, name.name);
  return [...loginSearchPath, { ...compile(sql`select ${called}()`), use: "none" }];
}

/** Parses the result of the last of {@linkcode configStatements}. */
export function readValues(answer: string): DatabaseValues {
  return new Map(Object.entries(JSON.parse(answer)));
}

/** The settings and isolation level that a role's requests begin with. */
export interface RoleDefaults {
  /** In the order of `pg_roles.rolconfig`. */
  readonly settings: readonly (readonly [name: string, value: string])[];
  readonly isolation: IsolationLevel | null;
  /** The role's `db-max-cost`. 0 means no limit; null means the value of the option. */
  readonly maxCost: number | null;
}

/** The settings of roles. */
export interface RoleSettings {
  /** By role name. Roles without settings are absent. */
  readonly byRole: ReadonlyMap<string, RoleDefaults>;
  /** Whether the login role sets `statement_timeout`, to 0 or another value. */
  readonly loginSetsTimeout: boolean;
}

export const noRoleSettings: RoleSettings = { byRole: new Map(), loginSetsTimeout: false };

/** The first major version of PostgreSQL with `GRANT SET ON PARAMETER`. */
const firstVersionWithGrants = 15;

/** Setting of a role that overrides `db-max-cost`, without the dialect's prefix. */
const maxCostName = "db_max_cost";

/**
 * Returns the statement that reads the settings of all roles of which the authenticator role is a
 * direct member, and whether the authenticator role sets a timeout. Omits settings that the
 * authenticator role may not set. `version` is the result of PostgreSQL's `version()`.
 */
export function roleStatement(
  version: string,
  { settingPrefix }: Pick<Dialect, "settingPrefix">,
): Statement {
  const maxCost = param(`${settingPrefix}.${maxCostName}`);
  const major = Number(/^PostgreSQL (\d+)/.exec(version)?.[1] ?? firstVersionWithGrants);
  const granted = major < firstVersionWithGrants
    ? sql`false`
    : sql`pg_catalog.has_parameter_privilege(current_user, available.name, 'set')`;
  const query = sql`
select pg_catalog.json_build_object(
  'settings', coalesce(pg_catalog.json_agg(pg_catalog.json_build_array(own.role, own.setting, own.value)), '[]'),
  'loginSetsTimeout', exists (
    select ${ownSettings}
      and pg_catalog.lower(pg_catalog.split_part(setting, '=', 1)) = 'statement_timeout'
  )
)::pg_catalog.text
from (
  select r.rolname as role, pg_catalog.split_part(s, '=', 1) as setting, pg_catalog.substr(s, pg_catalog.strpos(s, '=') + 1) as value
  from pg_catalog.pg_roles r, pg_catalog.unnest(r.rolconfig) s
  where r.oid in (
    select roleid from pg_catalog.pg_auth_members
    where member = (select oid from pg_catalog.pg_roles where rolname = current_user)
  )
) own
left join pg_catalog.pg_settings available on pg_catalog.lower(available.name) = pg_catalog.lower(own.setting)
where available.context = 'user' or (available.context = 'superuser' and ${granted})
  or pg_catalog.lower(own.setting) = ${maxCost}`;
  return { ...compile(query), use: "rows" };
}

const isolationSetting = "default_transaction_isolation";

type RoleSetting = readonly [role: string, name: string, value: string];

/** Parses the result of {@linkcode roleStatement}, and separates the isolation level and the cost. */
export function readRoles(answer: string): RoleSettings {
  const { settings, loginSetsTimeout } = JSON.parse(answer) as {
    readonly settings: readonly RoleSetting[];
    readonly loginSetsTimeout: boolean;
  };
  const byRole = groupBy(settings, ([role]) => role);
  return {
    byRole: new Map(Array.from(byRole, ([role, group]) => [role, roleDefaults(group)])),
    loginSetsTimeout,
  };
}

function roleDefaults(settings: readonly RoleSetting[]): RoleDefaults {
  const isMaxCost = (name: string) => name.toLowerCase().endsWith(`.${maxCostName}`);
  const isIsolation = (name: string) => name.toLowerCase() === isolationSetting;
  const isolation = settings.find(([, name]) => isIsolation(name))?.[2];
  const maxCost = settings.find(([, name]) => isMaxCost(name))?.[2];
  return {
    settings: settings
      .filter(([, name]) => !isIsolation(name) && !isMaxCost(name))
      .map(([, name, value]) => [name, value]),
    isolation: isolation === undefined ? null : isolationLevel(isolation),
    maxCost: maxCost !== undefined && /^[0-9]+(?:\.[0-9]+)?$/.test(maxCost)
      ? Number(maxCost)
      : null,
  };
}

/** Returns the isolation level of a setting. PostgreSQL treats `read uncommitted` as `read committed`. */
function isolationLevel(text: string): IsolationLevel {
  const level = text.toLowerCase();
  return level === "repeatable read" || level === "serializable" ? level : "read committed";
}
