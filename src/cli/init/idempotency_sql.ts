/** The table of `idempotency-table`, as SQL of `svc init`. @module */

/** The table; its schema is not served. */
export const idempotencyTable = { schema: "svc", name: "idempotency_keys" } as const;

/** Whom a row belongs to. The service compares it as well, so that no role sees the rows of another. */
const principal = `json_build_array(
    current_user,
    nullif(current_setting('request.jwt.claims', true), '')::json->>'iss',
    nullif(current_setting('request.jwt.claims', true), '')::json->>'sub'
  )::text`;

/** Returns the lines that make the table for roles that write, which are quoted. */
export function idempotencyLines(roles: string): readonly string[] {
  const { schema, name } = idempotencyTable;
  const table = `${schema}.${name}`;
  return [
    "-- Answers to writes with an Idempotency-Key. Each role, issuer and subject has rows of its own.",
    `create schema if not exists ${schema};`,
    `create table if not exists ${table} (`,
    `  principal text not null default ${principal},`,
    "  key text not null,",
    "  fingerprint bytea not null,",
    "  status int,",
    "  headers json,",
    "  body bytea,",
    "  created_at timestamptz not null default now(),",
    "  primary key (principal, key)",
    ");",
    `create index if not exists ${name}_created_at on ${table} (created_at);`,
    `alter table ${table} enable row level security;`,
    `drop policy if exists own on ${table};`,
    `create policy own on ${table} using (`,
    `  principal = ${principal}`,
    ");",
    `grant usage on schema ${schema} to ${roles};`,
    `grant select, insert, update, delete on ${table} to ${roles};`,
    "-- Run this from time to time, for example every hour by pg_cron:",
    `-- delete from ${table} where created_at < now() - interval '1 day';`,
    "",
  ];
}
