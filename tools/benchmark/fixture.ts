/** The database of the cases: settings, roles and tables without policies. @module */
import { signToken, testSecret } from "../../tests/support/handler/token.ts";
import type { PostgresServer } from "../../tests/support/database/postgres_server.ts";
import type { FileConfig } from "../../tests/support/server/process.ts";
import type { User } from "./template.ts";

/** Settings with which a server does no work in the background during the benchmark. */
export const quietSettings: Readonly<Record<string, string>> = {
  autovacuum: "off",
  checkpoint_timeout: "1h",
  max_wal_size: "16GB",
  shared_buffers: "512MB",
};

/** Role of requests without a token. */
export const anonymousRole = "web_anon";
/** Role of requests with a token. */
export const userRole = "web_user";

/** Roles of the whole server; every measured service logs in as `authenticator`. */
export const roles = `
  create role web_anon nologin;
  create role web_user nologin;
  create role authenticator login noinherit password 'p';
  grant web_anon, web_user to authenticator;
`;

/** The schema `api`, whose tables both roles may use. */
export const schema = `
  create schema api;
  grant usage on schema api to web_anon, web_user;
  alter default privileges in schema api grant all on tables to web_anon, web_user;
`;

/** Number of rows of `items`, whose ids are 1 to this number. */
export const itemCount = 10_000;
export const parentCount = 100_000;

/** A table to read from. */
export const items = `
  create table api.items (
    id int primary key, name text, category int, price numeric, added timestamptz
  );
  insert into api.items
    select n, 'item ' || n, n % 50, (n * 7919 % 100000) / 100.0, timestamptz 'epoch' + n * interval '1h'
    from generate_series(1, ${itemCount}) n;
  create index on api.items (category);
`;

const families = `
  create table api.parents (id int primary key, name text);
  create table api.children (
    id int primary key, name text, parent_id int references api.parents
  );
  create table api.grandchildren (
    id int primary key, name text, child_id int references api.children
  );
  insert into api.parents select n, 'parent ' || n from generate_series(1, ${parentCount}) n;
  insert into api.children
    select n, 'child ' || n, n % ${parentCount} + 1 from generate_series(1, ${3 * parentCount}) n;
  insert into api.grandchildren
    select n, 'grandchild ' || n, n % ${3 * parentCount} + 1
    from generate_series(1, ${6 * parentCount}) n;
  create index on api.children (parent_id);
  create index on api.grandchildren (child_id);
`;

const written = `
  create table api.notes (
    id int generated always as identity primary key, title text, body text, stars int
  );
  create table api.stock (id int primary key, name text, amount int);
`;

const functions = `
  create function api.add(a int, b int) returns int language sql immutable
    as 'select a + b';
  create function api.tick() returns int language sql as 'select 1';
`;

/** Tables of the cases without policies. */
export const plainFixture = `${items}${families}${written}${functions}`;

/** Empties what inserting has filled. */
export const emptyNotes = "truncate api.notes restart identity";

/** Creates the updated rows again. */
export const freshStock = `
  truncate api.stock;
  insert into api.stock select n, 'thing ' || n, 0 from generate_series(1, ${itemCount}) n;
  analyze api.stock;
`;

/** Number of the first user. */
export const firstUser = 1000;
export const userCount = 1000;

/** Makes the users, whose numbers all have four digits. */
export function makeUsers(): Promise<readonly User[]> {
  const numbers = Array.from({ length: userCount }, (_, index) => firstUser + index);
  return Promise.all(numbers.map(async (number) => {
    const claims = { sub: `user-${number}`, role: userRole, app_metadata: { team: number % 200 } };
    return { number, claims: JSON.stringify(claims), token: await signToken(claims) };
  }));
}

/** Returns the configuration of a server. Its keys exist in PostgREST, too, which can be the peer. */
export function serverConfig(postgres: PostgresServer, database = "postgres"): FileConfig {
  return {
    "db-uri": postgres.uri({ user: "authenticator", password: "p", database }),
    "db-schemas": "api",
    "db-anon-role": anonymousRole,
    "db-pool": 10,
    // The benchmark measures slow answers, so no server refuses them.
    "db-pool-acquisition-timeout": 120,
    "jwt-secret": testSecret,
    "log-level": "error",
    "server-host": "127.0.0.1",
  };
}
