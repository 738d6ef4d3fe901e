-- The schema of each case of holes.sql and sound.sql: anna is owner 1, and sees one row of three.
drop schema api cascade;
create schema api;
create schema private;
grant usage on schema api, private to web_anon, web_user;
create function private.uid() returns int language sql stable
  as $$ select (nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub')::int $$;
create table api.doc (id int primary key, owner int default private.uid(), title text, size int default 1);
insert into api.doc values (1, 1, 'mine', 5), (2, 2, 'hers', 7), (3, 2, 'also hers', 9);
alter table api.doc enable row level security;
create policy own on api.doc using (owner = private.uid());
grant select on api.doc to web_user;
