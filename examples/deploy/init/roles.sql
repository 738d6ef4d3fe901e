-- The role that the service logs in as, the role of requests without a token, and a first table.
create role authenticator login noinherit password 'change-me';
create role web_anon nologin;
grant web_anon to authenticator;

create schema api;
grant usage on schema api to web_anon;

create table api.greetings (id int primary key generated always as identity, text text not null);
insert into api.greetings (text) values ('hello');
grant select on api.greetings to web_anon;
