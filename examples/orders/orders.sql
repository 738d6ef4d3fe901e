-- Orders with their lines, and the table of idempotency keys.
create schema api;
create table api.customers (id int primary key, name text not null);
create table api.orders (
  id int generated always as identity primary key,
  customer_id int not null references api.customers,
  status text not null default 'new'
);
create table api.lines (
  order_id int not null references api.orders,
  sku text not null,
  quantity int not null check (quantity > 0),
  primary key (order_id, sku)
);
insert into api.customers values (3, 'Ada');

create role shop;
grant usage on schema api to shop;
grant select, insert on all tables in schema api to shop;

create schema svc;
create table svc.idempotency_keys (
  principal text not null,
  key text not null,
  fingerprint bytea not null,
  status int,
  headers json,
  body bytea,
  created_at timestamptz not null default now(),
  primary key (principal, key)
);
alter table svc.idempotency_keys enable row level security;
create policy own on svc.idempotency_keys using (
  principal = json_build_array(
    current_user,
    nullif(current_setting('request.jwt.claims', true), '')::json->>'sub'
  )::text
);
grant usage on schema svc to shop;
grant select, insert, update, delete on svc.idempotency_keys to shop;
