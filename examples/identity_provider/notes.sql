-- Notes that readers see, editors write, and a list of revoked tokens.
create role web_anon nologin;
create role reader nologin;
create role editor nologin in role reader;

create schema api;
create schema private;
grant usage on schema api to web_anon, reader, editor;

create table api.notes (
  id int primary key generated always as identity,
  text text not null,
  author text not null default current_setting('request.jwt.claims')::json ->> 'sub'
);
grant select on api.notes to reader;
grant insert (text) on api.notes to editor;

create table private.revoked_tokens (
  claim text not null,
  value text not null,
  issued_before bigint,
  until timestamptz,
  primary key (claim, value)
);

-- Revokes the token of the request on all instances.
create function api.log_out() returns void language plpgsql security definer
  set search_path = private as $$
declare claims json := current_setting('request.jwt.claims')::json;
begin
  insert into revoked_tokens (claim, value, until)
  values ('jti', claims ->> 'jti', to_timestamp((claims ->> 'exp')::bigint))
  on conflict do nothing;
  notify svc, 'reload revocations';
end $$;
