-- A shared todo list that any client may read.
--
-- The configuration beside this file (svc.conf) runs it in the process. On a server of your own:
--
--   createdb todos
--   psql -d todos -f examples/todos/todos.sql
--   psql -d todos -c "create role authenticator login noinherit password 'choose-one'" \
--                 -c "grant web_anon, todo_user to authenticator"
--
-- and in svc.conf: db-uri = "postgres://authenticator:choose-one@localhost/todos"

-- Two roles for SET ROLE, without login. Roles belong to the whole server, so they may exist
-- already.
do $$
begin
  -- `svc access` and `svc test` of this user show the roles that the user is a member of.
  if to_regrole('web_anon') is null then create role web_anon nologin role current_user; end if;
  if to_regrole('todo_user') is null then create role todo_user nologin role current_user; end if;
end $$;

-- The exposed schema contains only objects for clients.
create schema api;
comment on schema api is 'A shared todo list';

-- This schema is not exposed.
create schema app;

-- The claim `sub` of the token identifies the user. Without a token it is null.
create function app.caller() returns text
language sql stable
as $$ select nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub' $$;

create table api.todos (
  id serial primary key,
  done boolean not null default false,
  task text not null check (task <> ''),
  due timestamptz,
  owner text not null default app.caller()
);
comment on table api.todos is 'Things to do. Everybody sees all of them; each user changes their own.';
comment on column api.todos.due is 'Null if there is no hurry';
comment on column api.todos.owner is 'Who wrote it down: the claim "sub" of the token';

insert into api.todos (done, task, due, owner) values
  (true, 'finish tutorial 0', null, 'ada'),
  (false, 'pat self on back', null, 'ada'),
  (false, 'renew passport', '2030-01-15 12:00:00+00', 'ada'),
  (false, 'water the plants', '2029-12-31 18:00:00+00', 'grace'),
  (true, 'return library books', null, 'grace');

-- Counts the open todos of one owner, or of all.
create function api.remaining(owner text default null) returns integer
language sql stable
as $$
  select count(*)::integer from api.todos t
  where not t.done and (remaining.owner is null or t.owner = remaining.owner)
$$;
comment on function api.remaining is 'How many todos are not done: of one owner, or of all';

-- Privileges of each role ...
grant usage on schema api, app to web_anon, todo_user;
grant select on api.todos to web_anon;
grant select, insert, update, delete on api.todos to todo_user;
grant usage, select on sequence api.todos_id_seq to todo_user;

-- ... and policies for rows. PATCH and DELETE do not find rows of other owners. Writing a row for
-- another owner fails with status 403. The subquery calls app.caller() once per statement.
alter table api.todos enable row level security;
create policy everybody_reads on api.todos for select using (true);
create policy own_insert on api.todos for insert to todo_user with check (owner = (select app.caller()));
create policy own_update on api.todos for update to todo_user
  using (owner = (select app.caller())) with check (owner = (select app.caller()));
create policy own_delete on api.todos for delete to todo_user using (owner = (select app.caller()));
