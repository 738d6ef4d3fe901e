-- Counters that many clients increment at once.
create schema api;
create table api.counters (name text primary key, count bigint not null default 0);
insert into api.counters (name) values ('visits');
create role counting;
grant usage on schema api to counting;
grant select, update on api.counters to counting;
