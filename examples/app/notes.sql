-- Notes of users who sign up with a name and a password. The secret signs tokens:
--
--   psql -d notes -v secret="$JWT_SECRET" -f examples/app/notes.sql
create extension if not exists pgcrypto;
do $$
begin
  if to_regrole('web_anon') is null then create role web_anon nologin; end if;
  if to_regrole('web_user') is null then create role web_user nologin; end if;
end $$;

-- This schema is not exposed. No role of a request may use it.
create schema private;
create table private.users (name text primary key, password text not null);
create table private.secret (value text not null);
insert into private.secret values (:'secret');

create function private.base64url(data bytea) returns text language sql immutable
as $$ select translate(encode(data, 'base64'), E'+/=\n', '-_') $$;

-- Signs a token for one hour: the role of requests, and the name in the claim `sub`.
create function private.token_of(name text) returns json language sql
as $$
  select json_build_object('token', text || '.' ||
    private.base64url(public.hmac(text::bytea, (select value::bytea from private.secret), 'sha256')))
  from (select private.base64url('{"alg":"HS256"}') || '.' || private.base64url(convert_to(json_build_object(
    'role', 'web_user', 'sub', name, 'exp', extract(epoch from now())::int + 3600)::text, 'utf8')) as text) unsigned
$$;

create schema api;
create function api.sign_up(name text, password text) returns json
language plpgsql security definer set search_path = ''
as $$
begin
  if length(password) < 8 then
    raise sqlstate 'PT400' using message = 'The password needs 8 characters';
  end if;
  insert into private.users values (name, public.crypt(password, public.gen_salt('bf')));
  return private.token_of(name);
exception when unique_violation then
  raise sqlstate 'PT409' using message = 'The name is taken';
end $$;

create function api.login(name text, password text) returns json
language plpgsql security definer set search_path = ''
as $$
begin
  if not exists (
    select from private.users u
    where u.name = login.name and u.password = public.crypt(login.password, u.password)
  ) then
    raise sqlstate 'PT401' using message = 'Wrong name or password';
  end if;
  return private.token_of(name);
end $$;

-- Each row belongs to the user who wrote it; users see and change their own.
create table api.notes (
  id int generated always as identity primary key,
  owner text not null default current_setting('request.jwt.claims', true)::json ->> 'sub',
  text text not null check (text <> ''),
  created timestamptz not null default now()
);
create index on api.notes (owner);
alter table api.notes enable row level security;
create policy own_notes on api.notes to web_user
  using (owner = (select current_setting('request.jwt.claims', true)::json ->> 'sub'));

revoke execute on all functions in schema api from public;
grant usage on schema api to web_anon, web_user;
grant execute on function api.sign_up, api.login to web_anon;
grant select, insert (text), update (text), delete on api.notes to web_user;
