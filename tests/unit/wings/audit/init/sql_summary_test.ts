import { strictEqual } from "node:assert/strict";
import { sqlSummary } from "../../../../../src/wings/audit/init/sql_summary.ts";

const rows: readonly (readonly [title: string, sql: string, summary: string])[] = [
  [
    "an empty file",
    "",
    `Summary:
  creates    no role
  read       no relation
  write      no relation
  policies   none
  functions  roles call those that PUBLIC may call
`,
  ],
  [
    "roles, grants and policies, and no comments",
    `do $svc$ begin
  if not exists (select from pg_catalog.pg_roles where rolname = 'authenticator') then
    create role authenticator login noinherit;
  end if;
    create role "web, anon" nologin noinherit;
end $svc$;
create schema if not exists shop;
grant select on shop.film to "web, anon", web_user;
grant select on "a.b".c to web_user;
-- grant select on shop.secret to web_user;
grant select, insert, update, delete on shop.film to web_user;
grant usage on sequence shop.film_id_seq to web_user;
create policy svc_own on shop.film to web_user using (true);
create policy svc_read on shop.film for select to web_user using (true);
revoke execute on all functions in schema shop from public;
-- The event triggers.
create schema if not exists svc_private;
`,
    `Summary:
  creates    authenticator, "web, anon" unless they exist, and the schema shop
  read       "web, anon" 1 relation, web_user 2 relations
  write      web_user 1 relation
  policies   on shop.film
  functions  roles call those that you grant
  caution    requests read shop.film."api key", shop.film.token and shop.film.pwd, by name secrets: grant select (columns) instead
`,
  ],
];

const secrets = ['shop.film."api key"', "shop.film.token", "shop.filmed.token", "shop.film.pwd"];

for (const [title, sql, summary] of rows) {
  Deno.test(`sqlSummary() counts ${title}`, () => strictEqual(sqlSummary(sql, secrets), summary));
}
