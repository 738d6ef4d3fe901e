/** Puts fixtures into databases: the same SQL for every engine. @module */
import type { Extensions } from "@electric-sql/pglite";
import { liveSql } from "../../../src/wings/live/live_schema.ts";
import { quoteIdent } from "../../../src/base/sql/fragment.ts";

/** What a test database is filled with. */
export interface Fixture {
  /** `tools` for `tests/fixtures/tools.sql`, or a path from the project's root that ends in `.sql`. */
  readonly name: string;
  /** Roles without login that exist before the SQL runs. */
  readonly roles: readonly string[];
  /** Extensions that PGlite loads. Default: none. */
  readonly pgliteExtensions?: Extensions;
}

/** The role that services under test log in as; its password is its name. */
export const authenticator = "authenticator";

/**
 * Gives the SQL that fills an empty database: the roles, the fixture's file, and last the right of the
 * authenticator to become each role that the fixture uses. Roles belong to the whole server, where
 * another database may have brought them along already. `\ir other.sql` includes another fixture, as in psql.
 * `\live api.orders:owner, api.members` is the SQL that records changes of tables of simple names.
 */
export async function fixtureSql({ name, roles }: Fixture): Promise<string> {
  const file = name.endsWith(".sql") ? `../../../${name}` : `../../fixtures/${name}.sql`;
  const text = await Deno.readTextFile(new URL(file, import.meta.url));
  return [
    createRole(`${authenticator} login noinherit password '${authenticator}'`),
    ...roles.map((role) => createRole(`${quoteIdent(role)} nologin`)),
    text.replace(
      /^\\ir ([\w/]+\.sql)$/gm,
      (_, included: string) =>
        Deno.readTextFileSync(new URL(`../../fixtures/${included}`, import.meta.url)),
    ).replace(/^\\live (.*)$/gm, (_, tables: string) => recordingSql(tables)),
    ...roles.map((role) => `grant ${quoteIdent(role)} to ${authenticator};`),
    grantUsedRoles,
  ].join("\n");
}

function recordingSql(tables: string): string {
  return liveSql(
    authenticator,
    tables.split(", ").map((table) => {
      const [, schema = "", name = "", scope = null] = /^(\w+)\.(\w+)(?::(\w+))?$/.exec(table)!;
      return { schema, name, scope };
    }),
  );
}

function createRole(definition: string): string {
  return `do $do$ begin create role ${definition};
    exception when duplicate_object then null; end $do$;`;
}

/** `pg_shdepend` knows the roles that own something in this database or appear in its privileges. */
const grantUsedRoles = `
do $do$
declare used name;
begin
  for used in
    select distinct r.rolname
    from pg_catalog.pg_shdepend d
    join pg_catalog.pg_roles r on r.oid = d.refobjid
    join pg_catalog.pg_database b on b.oid = d.dbid
    where b.datname = current_database()
      and d.refclassid = 'pg_catalog.pg_authid'::pg_catalog.regclass
      and not r.rolsuper and r.rolname not in ('${authenticator}') and r.rolname !~ '^pg_'
  loop
    execute format('grant %I to ${authenticator}', used);
  end loop;
end $do$;
`;
