-- The same schema in the database of each shop.
create schema api;

create table api.products (
  id int primary key,
  name text not null,
  price numeric not null
);

insert into api.products values (1, 'anvil', 90), (2, 'rope', 12);

create function api.shop() returns text
language sql stable as
$$ select current_setting('app.settings.shop') $$;

-- Roles belong to the server: the second database finds them.
do $$ begin
  create role web_anon nologin;
  create role shops login noinherit password 'secret';
  grant web_anon to shops;
exception when duplicate_object then null;
end $$;
grant usage on schema api to web_anon;
grant select on api.products to web_anon;
