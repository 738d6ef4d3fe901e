/**
 * The SQL of `svc init`: roles, privileges, and event triggers that report schema changes. @module
 */
import { commented } from "../diagnosis/finding.ts";
import { reloadTriggerSql } from "../../../state/schema_cache/reload_trigger.ts";
import { catalogueSql, compile, literal, type Sql, sql } from "../../../base/sql/fragment.ts";
import { counted } from "../../../base/lib/printable.ts";
import type { Choices, OwnedTable } from "./choices.ts";
import type { RelationFacts, TargetFacts } from "./facts.ts";

/** Start of the line before the second transaction. */
export const triggerMark = "-- The event triggers.";

/** `statement_timeout` of new roles for requests. */
const timeout = "5s";

/** Returns the SQL file. `verifier` is for the password of the login role; null leaves the password
 * unchanged. */
export function initSql(choices: Choices, facts: TargetFacts, verifier: string | null): string {
  const channel = "svc";
  return [
    "-- Written by svc init: roles and privileges of the service. Applied again, it changes nothing.",
    "-- Roles that exist stay as they are. Remove the dashes from the lines that you want, too.",
    "begin read write;",
    "",
    createRoles(choices, facts, verifier),
    ...grantRoles(choices, facts),
    ...workerLogins(choices, facts),
    ...schemaLines(choices, facts),
    ...relationLines(choices, facts),
    ...choices.owned.flatMap((owned) => policyLines(owned, choices, facts)),
    ...functionLines(choices, facts),
    ...(choices.keepsAnswers ? idempotencyLines(choices, facts) : []),
    "commit;",
    "",
    `${triggerMark} They make the service reload after changes of the schema. Only superusers`,
    '-- may create them; without them, db-schema-watch = "auto" polls.',
    "begin read write;",
    reloadTriggerSql(channel).trimEnd(),
    "commit;",
    "",
  ].join("\n");
}

function createRoles(
  { loginRole, anonRole, userRole }: Choices,
  { roles, quoted }: TargetFacts,
  verifier: string | null,
): string {
  const name = (role: string) => catalogueSql(quoted[role]!);
  const requestRoles = [anonRole, ...(userRole === null ? [] : [userRole])];
  const password = verifier === null ? sql`` : sql`
      password ${literal(verifier)}`;
  const blocks = [
    ifMissing(
      loginRole,
      sql`
    create role ${
        name(loginRole)
      } login noinherit nosuperuser nobypassrls nocreatedb nocreaterole${password};`,
    ),
    ...requestRoles.map((role) =>
      ifMissing(
        role,
        sql`
    create role ${name(role)} nologin noinherit nosuperuser nobypassrls;
    alter role ${name(role)} set statement_timeout = ${literal(timeout)};`,
      )
    ),
  ];
  const existing = [loginRole, ...requestRoles].filter((role) =>
    roles.some((r) => r.name === role)
  );
  const note = existing.length === 0
    ? ""
    : commented(`Exists already: ${existing.join(", ")}`) + "\n";
  return note + doBlock(blocks.map((block) => compile(block).text).join(""));
}

function ifMissing(role: string, create: Sql): Sql {
  return sql`
  if not exists (select from pg_catalog.pg_roles where rolname = ${literal(role)}) then${create}
  end if;`;
}

/** Wraps statements in an anonymous block. No name in the statements can end its quotes. */
function doBlock(body: string): string {
  let tag = "$svc$";
  for (let number = 1; body.includes(tag); number++) tag = `$svc${number}$`;
  return `do ${tag} begin${body}\nend ${tag};`;
}

function grantRoles(
  { loginRole, anonRole, userRole }: Choices,
  { version, roles, quoted }: TargetFacts,
): readonly string[] {
  const login = roles.find(({ name }) => name === loginRole);
  // From PostgreSQL 16 on, a login role with INHERIT would otherwise get the privileges of the granted roles.
  const options = version >= 160_000 && login?.inherits ? " with inherit false, set true" : "";
  return [anonRole, ...(userRole === null ? [] : [userRole])]
    .filter((role) => !roles.some(({ name, isGranted }) => name === role && isGranted))
    .map((role) => `grant ${quoted[role]} to ${quoted[loginRole]}${options};`);
}

/** Returns the SQL for logins on workers. Citus connects to workers as the request's role, and
 * copies ALTER ROLE to them. */
function workerLogins(choices: Choices, facts: TargetFacts): readonly string[] {
  const { anonRole, userRole, usesCitus } = choices;
  if (!usesCitus) return [];
  return [
    ...[anonRole, ...(userRole === null ? [] : [userRole])]
      .map((role) => `alter role ${facts.quoted[role]} login;`),
    "-- The coordinator connects to its workers as these roles, which need no password. Add to",
    "-- pg_hba.conf of each worker, before other lines:",
    commented(`hostssl <database> ${requestRoles(choices, facts)} <coordinator>/32 cert`),
    "-- No line of the coordinator's own pg_hba.conf may let these roles in without a certificate.",
  ];
}

function schemaLines(choices: Choices, facts: TargetFacts): readonly string[] {
  const { quoted, missingSchemas, openSchemas } = facts;
  return [
    "",
    ...missingSchemas.map((name) => `create schema if not exists ${quoted[name]};`),
    `grant usage on schema ${schemaList(choices, facts)} to ${requestRoles(choices, facts)};`,
    ...openSchemas.flatMap((name) => [
      "-- Every role may create objects in this schema, and requests search it:",
      `-- revoke create on schema ${quoted[name]} from public;`,
    ]),
    "",
  ];
}

function schemaList({ schemas }: Choices, { quoted }: TargetFacts): string {
  return schemas.map((name) => quoted[name]).join(", ");
}

function requestRoles({ anonRole, userRole }: Choices, { quoted }: TargetFacts): string {
  return [anonRole, ...(userRole === null ? [] : [userRole])].map((role) => quoted[role]).join(
    ", ",
  );
}

/** Returns one line per relation: a grant if the relation is chosen, otherwise the grant as a comment. */
function relationLines(choices: Choices, facts: TargetFacts): readonly string[] {
  const readers = requestRoles(choices, facts);
  const reads = facts.relations.map((relation) =>
    unless(
      choices.readable.includes(relation),
      `grant select on ${relation.sql} to ${readers};`,
    )
  );
  if (choices.userRole === null) return [...reads, ""];
  const user = facts.quoted[choices.userRole]!;
  const userReads = choices.userReadable.map(({ sql: name }) =>
    `grant select on ${name} to ${user};`
  );
  const writes = facts.relations.filter(({ isWritable }) => isWritable).flatMap((relation) =>
    unless(choices.writable.includes(relation), writeGrants(relation, user))
  );
  return [...reads, "", ...userReads, "", ...writes, ""];
}

function writeGrants({ sql: name, sequences }: RelationFacts, user: string): string {
  return [
    `grant select, insert, update, delete on ${name} to ${user};`,
    ...sequences.map((sequence) => `grant usage on sequence ${sequence} to ${user};`),
  ].join("\n");
}

/** Returns policies by which users see and change only their rows. Rows that all requests may read
 * stay readable. */
function policyLines(
  { relation, column }: OwnedTable,
  { anonRole, userRole, readable }: Choices,
  { quoted }: TargetFacts,
): readonly string[] {
  const { sql: table } = relation;
  const claim = "current_setting('request.jwt.claims', true)::json ->> 'sub'";
  const caller = ["text", "character varying"].includes(column.type)
    ? claim
    : `(${claim})::${column.type}`;
  const policy = (name: string, text: string) => [
    `drop policy if exists ${name} on ${table};`,
    `create policy ${name} on ${table} ${text};`,
  ];
  return [
    `alter table ${table} enable row level security;`,
    ...policy(
      "svc_own",
      `to ${quoted[userRole!]} using (${column.sql} = (select ${caller}))`,
    ),
    ...(readable.includes(relation)
      ? policy("svc_read", `for select to ${quoted[anonRole]}, ${quoted[userRole!]} using (true)`)
      : []),
    ...(column.hasDefault
      ? []
      : [`alter table ${table} alter column ${column.sql} set default (${caller});`]),
    "",
  ];
}

function functionLines(choices: Choices, facts: TargetFacts): readonly string[] {
  const { schemas: { length }, revokesFunctions } = choices;
  const { publicFunctions, functions } = facts;
  if (publicFunctions === 0 && !revokesFunctions) return [];
  const callers = requestRoles(choices, facts);
  const revoke = `revoke execute on all functions in schema ${
    schemaList(choices, facts)
  } from public;`;
  return [
    `-- PUBLIC may call ${counted(publicFunctions, "function")} of ${theseSchemas(length)}. ` +
    "This revokes it:",
    unless(revokesFunctions, revoke),
    "-- The same for functions that are created later:",
    ...laterFunctions(facts).map((line) => unless(revokesFunctions, line)),
    ...(functions.length === 0 ? [] : [
      "-- Grants of each function instead. Policies, views or defaults need those without dashes:",
    ]),
    ...functions.map(({ sql: name, isUsed }) =>
      unless(revokesFunctions && isUsed, `grant execute on function ${name} to ${callers};`)
    ),
    "",
  ];
}

/** Returns a phrase for the chosen schemas. */
export function theseSchemas(count: number): string {
  return count === 1 ? "this schema" : "these schemas";
}

/** Returns SQL that revokes EXECUTE on functions that are created later, one statement for each owner
 * of functions. In a new schema, the owner is the role that applies the SQL. */
function laterFunctions({ owners }: TargetFacts): readonly string[] {
  const revoke = "revoke execute on functions from public;";
  if (owners.length === 0) return [`alter default privileges ${revoke}`];
  return owners.map(({ sql: owner, isOurs }) => {
    const line = `alter default privileges for role ${owner} ${revoke}`;
    return isOurs ? line : commented(`As a superuser, or as ${owner}:\n${line}`);
  });
}

function unless(isChosen: boolean, line: string): string {
  return isChosen || line.startsWith("-- ") ? line : commented(line);
}

/** Name of the table for `idempotency-table`. Its schema is not exposed. */
export const idempotencyTable = { schema: "svc", name: "idempotency_keys" } as const;

/** SQL expression for the owner of a row with a stored answer: role, issuer and subject. */
const principal = `json_build_array(
    current_user,
    nullif(current_setting('request.jwt.claims', true), '')::json->>'iss',
    nullif(current_setting('request.jwt.claims', true), '')::json->>'sub'
  )::text`;

/** Returns the SQL of `idempotencyTable`. The role of requests with a token writes to the table; if
 * there is no such role, the anonymous role does. */
function idempotencyLines(
  { anonRole, userRole }: Choices,
  { quoted }: TargetFacts,
): readonly string[] {
  const role = quoted[userRole ?? anonRole];
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
    `grant usage on schema ${schema} to ${role};`,
    `grant select, insert, update, delete on ${table} to ${role};`,
    "-- Run this from time to time, for example every hour by pg_cron:",
    `-- delete from ${table} where created_at < now() - interval '1 day';`,
    "",
  ];
}
