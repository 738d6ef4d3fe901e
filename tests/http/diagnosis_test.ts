import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { reloadTriggerSql } from "../../src/state/schema_cache/reload_trigger.ts";
import { liveSql } from "../../src/wings/live/live_schema.ts";
import { findingsSql } from "../../src/wings/audit/diagnosis/finding.ts";
import { citusFake } from "../support/database/citus_fake.ts";
import { diagnosedDatabase, type FindingRow, findingRows } from "../support/handler/diagnosis.ts";
import { isChosen } from "../support/runner/row_filter.ts";

/** SQL that records the changes of some tables of `api`. */
function recording(...tables: readonly (readonly [name: string, scope: string | null])[]): string {
  return liveSql("{auth}", tables.map(([name, scope]) => ({ schema: "api", name, scope })));
}

const liveTrigger = (table: string) =>
  `create or replace trigger svc_live after insert or update or delete or truncate on ${table}\n` +
  "  for each statement execute function svc_live.changed();";

const rows: readonly FindingRow[] = [
  ...findingRows`
    # anonymous role is missing
      option: db-anon-role = {anon}_new
      finding: error role-missing {anon}_new: role {anon}_new, the db-anon-role, does not exist
      mend: create role {anon}_new nologin;
      mend: grant {anon}_new to {auth};
      together: true
      request: /film 401
    # anonymous role is not granted
      sql: revoke {anon} from {auth}
      finding: error role-not-granted {anon}: {auth} may not become {anon}
      mend: grant {anon} to {auth};
    # anonymous role is granted without the option SET
      sql: revoke {anon} from {auth}; grant {anon} to {auth} with set false
      finding: error role-not-granted {anon}: {auth} may not become {anon}
      mend: grant {anon} to {auth} with inherit false, set true;
      from: 16
    # anonymous role is a superuser
      sql: alter role {anon} superuser
      finding: error role-superuser {anon}: {anon} is a superuser: neither privileges nor policies
        + restrict its requests
      mend: alter role {anon} nosuperuser nobypassrls;
    # another role is a superuser
      sql: alter role {user} superuser
      finding: warn role-superuser {user}: {user} is a superuser: neither privileges nor policies
        + restrict its requests
      mend: alter role {user} nosuperuser nobypassrls;
    # anonymous role bypasses policies
      sql: alter role {anon} bypassrls
      finding: error role-bypassrls {anon}: {anon} has BYPASSRLS: policies do not restrict its
        + requests
      mend: alter role {anon} nobypassrls;
    # anonymous role owns a table and a view
      sql: create view api.names as select 1 as id; alter view api.names owner to {anon}; alter
        + table api.film owner to {anon}
      finding: error role-owns {anon}: {anon} owns api.film and api.names: row-level security does
        + not apply to owners
      mend: alter table api.film owner to postgres;
      mend: grant select on api.film to {anon};
      mend: alter view api.names owner to postgres;
      mend: grant select on api.names to {anon};
      request: /names 200
    # role of tokens owns a table
      sql: alter table api.film owner to {user}
      finding: warn role-owns {user}: {user} owns api.film: row-level security does not apply to
        + owners
      mend: alter table api.film owner to postgres;
      mend: grant select, insert, update, delete on api.film to {user};
    # anonymous role is a member of the owner of a table
      sql: create role {anon}_new; grant {anon}_new to {anon}; alter role {anon} inherit; alter
        + table api.film owner to {anon}_new
      finding: error role-owns {anon}: {anon} is a member of {anon}_new, the owner of api.film:
        + row-level security does not apply to owners
      mend: revoke {anon}_new from {anon};
      to: 15
    # anonymous role is a member of the owner of a table
      sql: create role {anon}_new; grant {anon}_new to {anon} with inherit true; alter table
        + api.film owner to {anon}_new
      finding: error role-owns {anon}: {anon} is a member of {anon}_new, the owner of api.film:
        + row-level security does not apply to owners
      mend: revoke {anon}_new from {anon} granted by postgres;
      from: 16
    # role of tokens is a member of the owner of the schema
      sql: create role {anon}_new; grant {anon}_new to {user} with inherit true, set false; alter
        + schema api owner to {anon}_new
      finding: warn create-in-schema api: {user} may create objects in schema api
      mend: revoke {anon}_new from {user} granted by postgres;
      from: 16
    # login role is a superuser
      sql: alter role {auth} superuser
      finding: warn login-superuser {auth}: {auth}, the user of db-uri, is a superuser: svc init
        + makes a login role that is not
    # login role inherits
      sql: alter role {auth} inherit
      finding: warn login-inherits {auth}: {auth}, the user of db-uri, always has the privileges of
        + {anon} and {user}
      mend: alter role {auth} noinherit;
      to: 15
    # login role inherits
      sql: grant {anon} to {auth} with inherit true
      finding: warn login-inherits {auth}: {auth}, the user of db-uri, always has the privileges of
        + {anon}
      mend: revoke inherit option for {anon} from {auth} granted by postgres;
      from: 16
    # schema is missing
      option: db-schemas = api, apis
      finding: error schema-missing apis: schema apis of db-schemas does not exist; did you mean
        + api?
      mend: create schema apis;
    # extra schema is missing
      sql: create schema extensions; grant usage on schema extensions to {anon}
      option: db-extra-search-path = public, extension
      finding: error schema-missing extension: schema extension of db-extra-search-path does not
        + exist; did you mean extensions?
      mend: create schema extension;
    # extra schema is missing, and nothing resembles it
      option: db-extra-search-path = vendor
      finding: error schema-missing vendor: schema vendor of db-extra-search-path does not exist
      mend: create schema vendor;
    # schema is empty
      sql: create schema hollow; grant usage on schema hollow to {anon}, {user}
      option: db-schemas = api, hollow
      finding: warn schema-empty hollow: schema hollow has no relation and no function; schemas
        + that have some: api
    # anonymous role has no USAGE
      sql: revoke usage on schema api from {anon}
      finding: error schema-usage api: {anon} has no USAGE on schema api
      mend: grant usage on schema api to {anon};
    # role of tokens has no USAGE
      sql: revoke usage on schema api from {user}
      finding: info schema-usage api: {user} has no USAGE on schema api
      mend: grant usage on schema api to {user};
    # anonymous role may read nothing
      sql: create table api."two Words" (id int); alter table api."two Words" enable row level
        + security; create policy p on api."two Words" using (true); revoke select on api.film from
        + {anon}
      finding: warn nothing-readable {anon}: {anon} may not read api."two Words" and api.film
      mend: grant select on api."two Words" to {anon};
      mend: grant select on api.film to {anon};
      request: /two%20Words 200
    # sequence of a table is not granted
      sql: revoke usage on sequence api.film_id_seq from {user}
      finding: warn sequence-usage api.film_id_seq: {user} may insert into api.film, but not use
        + the sequence api.film_id_seq
      mend: grant usage on sequence api.film_id_seq to {user};
    # sequence behind a view is not granted
      sql: create schema private; create table private.t (id serial primary key, a int); create
        + view api.v as select * from private.t; grant insert on api.v to {user}
      finding: warn sequence-usage private.t_id_seq: {user} may insert into api.v, but not use the
        + sequence private.t_id_seq
      mend: grant usage on sequence private.t_id_seq to {user};
    # anonymous role may write without row-level security
      sql: create table api.note (id int); grant select, insert on api.note to {anon}, {user}
      finding: error write-without-rls api.note: {anon} and {user} may write every row of api.note:
        + add policies that name the rows
      mend: alter table api.note enable row level security;
      mend: create policy note_read on api.note for select using (true);
      mend: -- Writes need a policy, such as this one with a condition of yours:
      mend: -- create policy writes on api.note to {anon}, {user} using (false);
      request: /note 200
    # role of tokens may write one column without row-level security
      sql: alter table api.film disable row level security; revoke insert, update, delete on
        + api.film from {user}; grant update (title) on api.film to {user}
      finding: warn write-without-rls api.film: {user} may write every row of api.film: add
        + policies that name the rows
      mend: alter table api.film enable row level security;
      mend: -- Writes need a policy, such as this one with a condition of yours:
      mend: -- create policy writes on api.film to {user} using (false);
    # anonymous role may write rows that a view does not show
      sql: create schema private; create table private.b (id int); create view api.b as select *
        + from private.b where exists (select from api.film); grant all on api.b to {anon}
      finding: error write-without-rls api.b: {anon} may write rows that api.b does not show: the
        + view writes private.b with the rights of its owner, past policies
      mend: alter view api.b set (check_option = cascaded);
      request: /b 200
    # a condition of a subquery bounds no row
      sql: create schema private; create table private.b (id int); create view api.b as select *,
        + (select max(1) from api.film where id > 0) as n from private.b; grant all on api.b to
        + {anon}
      finding: error write-without-rls api.b: {anon} may write every row of api.b: the view writes
        + private.b with the rights of its owner, past policies
      mend: revoke insert, update, delete on api.b from {anon};
      request: /b 200
    # every role may write one column through two views
      sql: create schema private; create table private.b (id int); create view private.inner_view
        + as select * from private.b; create view api.b as select * from private.inner_view; grant
        + update (id) on api.b to public; grant select on api.b to {anon}
      finding: error write-without-rls api.b: {anon} and {user} may write every row of api.b: the
        + view writes private.b with the rights of its owner, past policies
      mend: revoke insert, update, delete on api.b from public;
      request: /b 200
    # role of tokens may write past policies through a view
      sql: create view api.films as select * from api.film; grant update on api.films to {user}
      finding: warn write-without-rls api.films: {user} may write every row of api.films: the view
        + writes api.film with the rights of its owner, past policies
      mend: alter view api.films set (security_invoker = true);
      from: 15
    # table has row-level security without a policy
      sql: create table api.note (id int); alter table api.note enable row level security; grant
        + select on api.note to {anon}
      finding: info rls-without-policy api.note: api.note has row-level security and no policy:
        + only its owner sees rows
      mend: create policy note_read on api.note for select to {anon} using (true);
      request: /note 200
    # table with a column of owners has row-level security without a policy
      sql: create table api.note (id int, owner_id uuid); alter table api.note enable row level
        + security; grant select on api.note to {anon}
      finding: info rls-without-policy api.note: api.note has row-level security and no policy:
        + only its owner sees rows
      mend: create policy note_own on api.note using (owner_id =
        + (current_setting('request.jwt.claims', true)::json ->> 'sub')::uuid);
      request: /note 200
    # table with a foreign key to users has row-level security without a policy
      sql: create schema private; create table private.app_users (id int primary key); create table
        + api.note (id int, poster int references private.app_users); alter table api.note enable
        + row level security; grant select on api.note to {anon}
      finding: info rls-without-policy api.note: api.note has row-level security and no policy:
        + only its owner sees rows
      mend: create policy note_own on api.note using (poster =
        + (current_setting('request.jwt.claims', true)::json ->> 'sub')::integer);
      request: /note 200
    # view reads through a view with the rights of its owner
      sql: create schema private; create view private.inner_view as select * from api.film; create
        + view api.outer_view as select * from private.inner_view; grant select on api.outer_view
        + to {anon}
      finding: warn view-owner-rights private.inner_view: private.inner_view reads api.film with
        + the rights of its owner, so policies do not apply to callers
      mend: alter view private.inner_view set (security_invoker = true);
      request: /outer_view 200
      from: 15
    # a relation has the path of the endpoint for agents
      sql: create table api.mcp (id integer)
      option: mcp-path = /mcp
      option: jwt-aud = shop
      finding: warn mcp-path-hides api.mcp: requests to /mcp reach the endpoint for agents, not
        + api.mcp: choose another mcp-path
    # view reads with the rights of its owner
      sql: create view api.titles as select title from api.film
      finding: warn view-owner-rights api.titles: api.titles reads api.film with the rights of its
        + owner, so policies do not apply to callers; PostgreSQL 15 and later have security_invoker
      to: 14
    # function is SECURITY DEFINER without a search_path
      sql: create type api.kind as enum ('a'); create function api.f(a int, k api.kind) returns int
        + language sql security definer as 'select 1'
      finding: warn definer-search-path api.f(a integer, k api.kind): api.f(a integer, k api.kind)
        + is SECURITY DEFINER without a search_path: callers choose which objects it uses
      mend: alter function api.f(a integer, k api.kind) set search_path = api, public, pg_temp;
      request: /rpc/f?a=1&k=a 200
    # procedure is SECURITY DEFINER without a search_path
      sql: create procedure api.p() language sql security definer as 'select 1'
      finding: warn definer-search-path api.p(): api.p() is SECURITY DEFINER without a search_path:
        + callers choose which objects it uses
      mend: alter procedure api.p() set search_path = api, public, pg_temp;
    # function leaves something to the session
      sql: create function api.f() returns void language plpgsql as 'begin perform set_config(''a.b'', ''c'', false),
        + pg_advisory_lock(1); set datestyle = iso; create temp table t (); execute ''deallocate all''; end';
        + create function api.g() returns void language plpgsql as 'begin perform set_config(''a.b'', ''c'', true),
        + pg_advisory_xact_lock(1); set local datestyle = iso; create temp table t () on commit drop; update x set y = 1; end'
      finding: info session-state api.f(): api.f() leaves a setting, a temporary table, a lock and 1
        + more to its session, which later transactions do not see
    # every role may create in an extra schema
      sql: grant create on schema public to public
      finding: error create-in-schema public: {anon} and {user} may create objects in schema public
      mend: revoke create on schema public from public;
    # role of tokens may create in the exposed schema
      sql: grant create on schema api to {user}
      finding: warn create-in-schema api: {user} may create objects in schema api
      mend: revoke create on schema api from {user};
    # anonymous role owns the exposed schema
      sql: alter schema api owner to {anon}; grant usage on schema api to {user}
      finding: error create-in-schema api: {anon} may create objects in schema api
      mend: alter schema api owner to postgres;
      mend: grant usage on schema api to {anon};
    # login role is the anonymous role, and owns the schema
      sql: alter schema api owner to {auth}; alter table api.film owner to {auth}
      option: db-anon-role = {auth}
      finding: error create-in-schema api: {auth} may create objects in schema api
    # login role inherits through another role
      sql: create role {anon}_new; grant {user} to {anon}_new with inherit true; revoke {user} from
        + {auth}; grant {anon}_new to {auth} with inherit true
      finding: warn login-inherits {auth}: {auth}, the user of db-uri, always has the privileges of
        + {anon}_new and {user}
      mend: revoke inherit option for {anon}_new from {auth} granted by postgres;
      from: 16
    # anonymous role may truncate
      sql: grant truncate on api.film to {anon}
      finding: warn truncate {anon}: {anon} may truncate api.film, which policies do not restrict
      mend: revoke truncate on api.film from {anon};
    # pre-request function is missing
      sql: create schema auth; create function auth.check() returns void language sql as ''
      option: db-pre-request = auth.chekc
      finding: error function-missing db-pre-request: auth.chekc, the db-pre-request, does not
        + exist; did you mean auth.check?
      request: /film 401
    # pre-request function is a procedure
      sql: create procedure api.prepare() language sql as 'select 1'
      option: db-pre-request = prepare
      finding: error function-missing db-pre-request: prepare, the db-pre-request, is a procedure:
        + it must be a function
      request: /film 400
    # pre-request function without a schema is missing
      sql: create function api.prepare() returns void language sql as ''
      option: db-pre-request = perpare
      finding: error function-missing db-pre-request: perpare, the db-pre-request, does not exist;
        + did you mean api.prepare?
      request: /film 404
    # pre-request function is not granted
      sql: create schema auth; create function auth.check() returns void language sql as ''; revoke
        + execute on function auth.check() from public; grant usage on schema auth to {user}; grant
        + execute on function auth.check() to {user}
      option: db-pre-request = auth.check
      finding: error function-missing db-pre-request: {anon} may not call auth."check"(), the
        + db-pre-request
      mend: grant execute on function auth."check"() to {anon};
      mend: grant usage on schema auth to {anon};
    # root function is not granted
      sql: create function api.root() returns json language sql as $$ select '{}'::json $$; revoke
        + execute on function api.root() from public; grant execute on function api.root() to
        + {user}
      option: db-root-spec = root
      finding: error function-missing db-root-spec: {anon} may not call api.root(), the
        + db-root-spec
      mend: grant execute on function api.root() to {anon};
      request: / 200
    # admin server is open to other machines
      option: admin-server-port = 3001
      option: admin-server-host = 0.0.0.0
      finding: warn admin-open admin-server-host: other machines may reach the admin server: set
        + admin-server-host = "127.0.0.1"
    # another role than the owner granted TRUNCATE
      sql: create role {anon}_new; grant usage on schema api to {anon}_new; grant truncate on
        + api.film to {anon}_new with grant option; set role {anon}_new; grant truncate on api.film
        + to {anon}; reset role
      finding: warn truncate {anon}: {anon} may truncate api.film, which policies do not restrict
      mend: set role {anon}_new;
      mend: revoke truncate on api.film from {anon};
      mend: reset role;
    # another role than the owner granted CREATE
      sql: create role {anon}_new; grant usage, create on schema api to {anon}_new with grant
        + option; set role {anon}_new; grant create on schema api to {user}; reset role
      finding: warn create-in-schema api: {user} may create objects in schema api
      mend: set role {anon}_new;
      mend: revoke create on schema api from {user};
      mend: reset role;
    # service for other machines has no limits
      sql: alter role {anon} reset statement_timeout
      option: server-host = *4
      option: db-max-rows = 1000
      option: server-max-body-size = 10m
      finding: warn no-limits server-host: other machines may send requests, and these limits are
        + not set: statement_timeout of {anon}
      mend: alter role {anon} set statement_timeout = '5s';
    # service for other machines has a timeout of zero
      sql: alter role {anon} set statement_timeout = '0s'
      option: server-host = *4
      option: db-max-rows = 1000
      option: server-max-body-size = 10m
      finding: warn no-limits server-host: other machines may send requests, and these limits are
        + not set: statement_timeout of {anon}
      mend: alter role {anon} set statement_timeout = '5s';
  `,
  {
    label: "policies of a distributed table see no claims",
    sql: `alter role {anon} login; alter role {user} login; ${citusFake} ` +
      "insert into pg_dist_partition values ('api.film', 'h'); " +
      "do $$ begin execute format('alter database %I reset all', current_database()); end $$",
    finding: "error citus-settings api.film: policies of api.film see neither role nor claims on " +
      "workers: the server does not know citus.propagate_set_commands",
    mend: null,
  },
  {
    label: "role of requests may not log in on workers",
    sql:
      `alter role {user} login; ${citusFake} insert into pg_dist_partition values ('api.film', 'h')`,
    finding: "error citus-login {anon}: {anon} may not log in, but Citus connects to workers as " +
      "this role for api.film",
    mend: "alter role {anon} login;",
  },
  {
    label: "owner of a SECURITY DEFINER function may not log in on workers",
    sql: `alter role {anon} login; alter role {user} login; ${citusFake} ` +
      "create role {anon}_owner nologin; create table public.kept (id int); " +
      "insert into pg_dist_partition values ('public.kept', 'h'); " +
      "create function api.count_kept() returns bigint language sql volatile security definer " +
      "set search_path = public, pg_temp as 'select count(*) from kept'; " +
      "create function api.other() returns int language sql volatile security definer " +
      "set search_path = public, pg_temp as 'select 1'; " +
      "alter function api.count_kept owner to {anon}_owner; " +
      "alter function api.other owner to {anon}_owner",
    finding: "error citus-login {anon}_owner: {anon}_owner may not log in, but Citus connects to " +
      "workers as this role for api.count_kept()",
    mend: "alter role {anon}_owner login;",
  },
  {
    label: "worker that refuses a role",
    sql: `alter role {anon} login; alter role {user} login; ${citusFake} ` +
      "insert into pg_dist_partition values ('api.film', 'h'); " +
      "insert into pg_dist_node values ('{anon}', 5432, 1), ('other', 5433, 2), ('{user}', 5434, 0)",
    finding: "error citus-worker {anon}: {anon}:5432 refuses {anon}: see its pg_hba.conf, and " +
      "pg_dist_authinfo on the coordinator",
    mend: null,
  },
  {
    label: "role of requests may not log in on workers, and reads a view",
    sql: `alter role {user} login; ${citusFake} create schema private; ` +
      "create table private.kept (id int); create view private.inner_kept as table private.kept; " +
      "create view api.kept as table private.inner_kept; grant select on api.kept to {anon}; " +
      "insert into pg_dist_partition values ('private.kept', 'h')",
    finding: "error citus-login {anon}: {anon} may not log in, but Citus connects to workers as " +
      "this role for api.kept",
    mend: "alter role {anon} login;",
  },
  {
    label: "worker that refuses a role, which reads a view",
    sql: `alter role {anon} login; alter role {user} login; ${citusFake} create schema private; ` +
      "create table private.kept (id int); create view api.kept as table private.kept; " +
      "grant select on api.kept to {anon}; " +
      "insert into pg_dist_partition values ('private.kept', 'h'); " +
      "insert into pg_dist_node values ('{anon}', 5432, 1), ('{user}', 5432, 2)",
    finding: "error citus-worker {anon}: {anon}:5432 refuses {anon}: see its pg_hba.conf, and " +
      "pg_dist_authinfo on the coordinator",
    mend: null,
  },
  {
    label: "a role that the login role may not take asks no worker",
    sql: `alter role {anon} login; alter role {user} login; ${citusFake} ` +
      "revoke {anon} from {auth}; insert into pg_dist_partition values ('api.film', 'h'); " +
      "insert into pg_dist_node values ('{user}', 5432, 1)",
    finding: "error citus-worker {user}: {user}:5432 refuses {user}: see its pg_hba.conf, and " +
      "pg_dist_authinfo on the coordinator",
    mend: null,
    request: ["/film", 401],
  },
  {
    label: "owner of a SECURITY DEFINER function of another schema may not log in on workers",
    sql: `alter role {anon} login; alter role {user} login; ${citusFake} ` +
      "create role {anon}_new nologin; create schema private; create table private.kept (id int); " +
      "insert into pg_dist_partition values ('private.kept', 'h'); " +
      "create function private.count_kept() returns bigint language sql volatile security definer " +
      "set search_path = '' as 'select count(*) from private.kept'; " +
      "alter function private.count_kept owner to {anon}_new",
    finding: "error citus-login {anon}_new: {anon}_new may not log in, but Citus connects to " +
      "workers as this role for private.count_kept()",
    mend: "alter role {anon}_new login;",
  },
  {
    label: "worker that refuses the owner of a SECURITY DEFINER function",
    sql: `alter role {anon} login; alter role {user} login; ${citusFake} ` +
      "create role {anon}_new login; grant {anon}_new to {auth}; create schema private; " +
      "create table private.kept (id int); " +
      "insert into pg_dist_partition values ('private.kept', 'h'); " +
      "create function private.count_kept() returns bigint language sql volatile security definer " +
      "set search_path = '' as 'select count(*) from private.kept'; " +
      "alter function private.count_kept owner to {anon}_new; " +
      "insert into pg_dist_node values ('{anon}_new', 5432, 1)",
    finding: "error citus-worker {anon}_new: {anon}_new:5432 refuses {anon}_new: see its " +
      "pg_hba.conf, and pg_dist_authinfo on the coordinator",
    mend: null,
  },
  {
    label: "function over a distributed table is inlined",
    sql: `alter role {anon} login; alter role {user} login; ${citusFake} ` +
      "insert into pg_dist_partition values ('api.film', 'h'); " +
      "create function api.films(n int) returns setof api.film stable language sql " +
      "begin atomic select * from api.film limit n; end; " +
      "create function api.all_films() returns setof api.film volatile language sql " +
      "as 'select * from api.film'",
    finding: "error citus-inlined api.films(n integer): api.films(n integer) finds no rows of " +
      "api.film: PostgreSQL puts it into a query that Citus has planned before",
    mend: "alter function api.films(n integer) set search_path = api, public;",
  },
  {
    label: "view over a distributed table",
    sql: `alter role {anon} login; alter role {user} login; ${citusFake} ` +
      "insert into pg_dist_partition values ('api.film', 'h'); " +
      "create view api.owners_films as select * from api.film; " +
      "create view api.callers_films with (security_invoker) as select * from api.film",
    finding:
      "warn citus-view api.owners_films: api.owners_films reads api.film with the rights of " +
      "its owner on the coordinator, and of the caller on workers",
    mend: "alter view api.owners_films set (security_invoker = true);",
  },
  {
    label: "no name of a table without row-level security ends the comment of the example",
    sql: 'create table api."a\ndrop table api.film; --" (id int); ' +
      'grant select, insert on api."a\ndrop table api.film; --" to {user}',
    finding:
      'warn write-without-rls api."a\ndrop table api.film; --": {user} may write every row ' +
      'of api."a\ndrop table api.film; --": add policies that name the rows',
    mend: 'alter table api."a\ndrop table api.film; --" enable row level security;\n' +
      'create policy "a\ndrop table api.film; --_read" on api."a\ndrop table api.film; --" ' +
      "for select using (true);\n" +
      "-- Writes need a policy, such as this one with a condition of yours:\n" +
      '-- create policy writes on api."a\n-- drop table api.film; --" to {user} ' +
      "using (false);",
  },
  {
    label: "a partition without trigger",
    sql: "create table api.log (id int primary key) partition by range (id); " +
      `grant select on api.log to {anon}; ${recording(["film", null], ["log", "id"])}; ` +
      "create table api.log_1 partition of api.log for values from (1) to (9)",
    finding: "warn live-trigger api.log_1: live queries see changes of api.log_1 at live-recheck " +
      "alone: it has no trigger",
    mend: `${liveTrigger("api.log_1")}\nalter table api.log_1 enable always trigger svc_live;`,
  },
  {
    label: "a table of a function of a policy without trigger",
    sql: "create schema private; create table private.members (id int primary key); " +
      "create function private.may(int) returns boolean stable security definer " +
      "set search_path = '' begin atomic select exists (select from private.members where id = $1); end; " +
      "create policy may on api.film using (private.may(id)); " +
      recording(["film", null]),
    finding: "warn live-trigger private.members: live queries see changes of private.members at " +
      "live-recheck alone: it has no trigger",
    mend: `${liveTrigger("private.members")}\n` +
      "alter table private.members enable always trigger svc_live;",
  },
  {
    label: "no event trigger reports changes",
    sql: "drop event trigger if exists svc_reload_on_ddl",
    finding:
      "info no-reload-trigger svc: changes of the schema cause no reload: create these event " +
      'triggers, or set db-schema-watch = "auto"',
    mend: reloadTriggerSql("svc").trimEnd(),
  },
  {
    label: "anonymous role is not set",
    sql: "",
    options: { "db-anon-role": "" },
    finding: "info no-anon-role db-anon-role: requests without a token fail with SVC302: set " +
      "db-anon-role",
    mend: null,
    request: ["/film", 401],
  },
  {
    label: "secret is not set",
    sql: "",
    options: { "jwt-secret": "" },
    finding:
      "info no-jwt-secret jwt-secret: requests with a token fail with SVC300: set jwt-secret",
    mend: null,
  },
];

async function serverVersion(): Promise<number> {
  const { prepared, serverVariable } = await import("../support/runner/environment.ts");
  const { withClient } = await import("../support/database/postgres_client.ts");
  const { rows } = await withClient(
    prepared(serverVariable),
    (client) => client.query("select current_setting('server_version_num')::int / 10000 as major"),
  );
  return rows[0]!["major"] as number;
}

Deno.test("diagnose() finds nothing in a database that is set up well", async () => {
  await using database = await diagnosedDatabase();
  deepStrictEqual(await database.diagnose({}), []);
});

/** Views that writes through are no finding. `{anon}` may write to the view `api.v`. */
const harmlessViews: readonly (readonly [label: string, sql: string, from?: number])[] = [
  [
    "policies apply to the caller",
    "create view api.v with (security_invoker) as table api.film",
    15,
  ],
  [
    "policies apply to the owner",
    "create view api.v as table api.film; create role {anon}_new; " +
    "grant usage on schema api to {anon}_new; grant all on api.film to {anon}_new; " +
    "alter view api.v owner to {anon}_new",
  ],
  [
    "another table has no policy",
    "create table api.other (id int); create view api.v with (security_invoker) as " +
    "select * from api.film where id in (select id from api.other)",
    15,
  ],
  [
    "its condition bounds the rows that it writes",
    "create view api.v as select * from api.film where id > 0 with local check option",
  ],
  [
    "the condition of a view below bounds the rows that it writes",
    "create view api.below as select * from api.film where id > 0; " +
    "create view api.v as select * from api.below with check option",
  ],
  ["PostgreSQL refuses writes", "create view api.v as select distinct title from api.film"],
];

Deno.test("diagnose() proposes no SELECT for a role of tokens without USAGE", async () => {
  await using database = await diagnosedDatabase();
  await database.run(
    "revoke usage on schema api from {anon}, {user}; revoke select on api.film from {anon}, {user}",
  );
  const lines = findingsSql(await database.diagnose({})).split("\n")
    .filter((line) => /^(grant|-- grant select)/.test(line));
  deepStrictEqual(
    lines,
    ["grant usage on schema api to {anon};", "-- grant select on api.film to {anon};"]
      .map(database.fill),
  );
});

Deno.test("diagnose() finds no view whose inner view reads with the rights of the caller", async () => {
  if (await serverVersion() < 15) return;
  await using database = await diagnosedDatabase();
  await database.run(
    "create schema private; create view private.inner_view with (security_invoker) as " +
      "select * from api.film; create view api.outer_view as select * from private.inner_view",
  );
  deepStrictEqual(await database.diagnose({}), []);
});

Deno.test("diagnose() finds no write past policies", async (t) => {
  const major = await serverVersion();
  for (const [label, sql, from = 0] of harmlessViews) {
    if (major < from) continue;
    await t.step(label, async () => {
      await using database = await diagnosedDatabase();
      await database.run(`${sql}; grant all on api.v to {anon}`);
      const found = await database.diagnose({});
      deepStrictEqual(found.filter(({ name }) => name === "write-without-rls"), []);
    });
  }
});

Deno.test("diagnose() finds each problem, and its SQL mends it", async (t) => {
  const major = await serverVersion();
  for (const row of rows) {
    const { label, from = 0, to = Infinity } = row;
    if (major < from || major > to || !isChosen(label)) continue;
    const fn = () => checkRow(row);
    await t.step({ name: label, fn, sanitizeOps: false, sanitizeResources: false });
  }
});

async function checkRow(row: FindingRow): Promise<void> {
  const { sql, options = {}, request: [target, status] = ["/film", 200] } = row;
  await using database = await diagnosedDatabase();
  await database.run(sql);
  const before = await database.diagnose(options);
  const expected = database.fill(row.finding!);
  const found = before.find(({ name, level, subject, message }) =>
    `${level} ${name} ${subject}: ${message}` === expected
  );
  ok(found, JSON.stringify(before, null, 1));
  strictEqual(found.sql, row.mend ? database.fill(row.mend) : null);
  if (found.sql !== null) {
    await database.run(row.together ? findingsSql(before) : found.sql);
    const after = await database.diagnose(options);
    deepStrictEqual(after.filter(({ name }) => name === found.name), []);
  }
  const handler = database.handler(options);
  try {
    const response = await handler(new Request(`http://localhost${target}`));
    strictEqual(response.status, status, await response.text());
  } finally {
    await handler.close();
  }
}
