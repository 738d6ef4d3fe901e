/** Options of the database: connections, schemas and transactions. @module */
import { isSettingName } from "../checks.ts";
import { boolean, functionName, integer, list, oneOf, orWord, text } from "../codecs.ts";
import { exposedSchemas } from "../exposed_schemas.ts";
import { connectionString, serverConnectionString } from "../secret.ts";
import { time } from "../units.ts";
import { flag, ofDialect, option, required } from "./option.ts";
import { name } from "./shared_codecs.ts";

export const databaseOptions = {
  "db-aggregates-enabled": flag({
    doc: "Allows aggregate functions in `select`.",
    isOfPostgrest: true,
  }),
  "db-anon-role": option({
    codec: name("a role's name"),
    default: null,
    doc: "Role of requests without a token; if it is not set, they fail with SVC302.",
    example: '"web_anon"',
    isOfPostgrest: true,
  }),
  "db-anon-statement-timeout": option({
    codec: time(),
    default: null,
    doc: "`db-statement-timeout` of requests with `db-anon-role`; 0 sets none.",
    example: '"2s"',
  }),
  "db-capabilities": option({
    codec: list({
      expected: '"-notify" alone (remove other parts, which have no use now)',
      empty: "value",
      check: (item) => item === "-notify",
    }),
    default: [],
    doc: "Parts of PostgreSQL that the service does not use: `-notify` for LISTEN.",
    example: '"-notify"',
    reloadable: false,
  }),
  "db-channel": option({
    codec: name("a channel's name"),
    default: ofDialect,
    doc: "Notification channel for reload requests.",
    example: '"svc"',
    inDatabase: false,
    isOfPostgrest: true,
  }),
  "db-channel-enabled": option({
    codec: boolean,
    default: true,
    doc: "Listens on `db-channel`; reconnects after one second, then with exponential backoff.",
    inDatabase: false,
    isOfPostgrest: true,
  }),
  "db-channel-uri": option({
    codec: serverConnectionString,
    default: null,
    doc: "Connection string, without a pooler, of the connection that listens on `db-channel`.",
    example: '"postgres://authenticator:secret@db.internal:5432/shop"',
    reloadable: false,
  }),
  "db-comment-tags": flag({
    doc: "Reads the tags in comments, at each load of the schema cache: the keys of relations " +
      "(`@primaryKey`, `@unique`, `@foreignKey`), `@label` of relations, and of relations and " +
      "functions `@primary`, `@maxRows` and `@deprecated`.",
  }),
  "db-config": option({
    codec: boolean,
    default: true,
    doc: "Also reads configuration and role settings from the database.",
    inDatabase: false,
    isOfPostgrest: true,
  }),
  "db-embedded-init": option({
    codec: text({ type: "path", expected: "the path of an SQL file in quotes" }),
    default: null,
    doc: "SQL file to run once, when the service creates an embedded database (`pglite://…`).",
    example: '"init.sql"',
    reloadable: false,
  }),
  "db-extra-search-path": option({
    codec: list({ expected: "schemas in quotes, separated by commas", empty: "value" }),
    default: ["public"],
    doc: "Schemas to append to the search path of every request; an empty text adds none.",
    isOfPostgrest: true,
  }),
  "db-hoisted-tx-settings": option({
    codec: list({
      expected: "names of settings in quotes, separated by commas",
      check: isSettingName,
    }),
    default: ofDialect,
    doc: "Settings of a function that apply to the whole transaction that calls it.",
    example: '"statement_timeout, default_transaction_isolation"',
    isOfPostgrest: true,
  }),
  "db-max-cost": option({
    codec: integer({ min: 0 }),
    default: null,
    doc: "Highest planner's cost of reads and writes, unless the role sets `svc.db_max_cost`; a " +
      "higher one fails with SVC137, and 0 sets no limit.",
    example: "10000",
  }),
  "db-max-rows": option({
    aliases: ["max-rows"],
    codec: integer({ min: 0 }),
    default: null,
    doc: "Maximum number of rows that a request reads from a table, a view or a function; the " +
      "header `Svc-Truncated` tells that more follow.",
    example: "1000",
    isOfPostgrest: true,
  }),
  "db-pipelining": option({
    codec: boolean,
    default: true,
    doc: "Sends several short transactions in one write while connections are busy; each " +
      "commits separately.",
  }),
  "db-plan-enabled": flag({
    doc: "Allows requests for execution plans: `Accept: application/vnd.svc.plan`.",
    isOfPostgrest: true,
  }),
  "db-pre-config": option({
    codec: functionName,
    default: null,
    doc: "Function that the service calls to read configuration from the database.",
    example: '"internal.pre_config"',
    isOfPostgrest: true,
  }),
  "db-pre-request": option({
    aliases: ["pre-request"],
    codec: functionName,
    default: null,
    doc: "Function that every transaction calls, after it sets the role and before the query.",
    example: '"internal.check_request"',
    isOfPostgrest: true,
  }),
  "db-password-file": option({
    codec: text({ type: "path", expected: "the path of a file in quotes" }),
    default: null,
    doc: "File with the password, read again for each new connection; it replaces passwords of " +
      "connection strings.",
    example: '"/run/secrets/db_password"',
    reloadable: false,
  }),
  "db-prepared-statements": option({
    codec: orWord(boolean, "auto", 'true, false or "auto"'),
    default: true,
    doc: 'Uses prepared statements; must be `false` or `"auto"` behind a pooler in transaction ' +
      'mode. `"auto"` tries whether they outlast a transaction.',
    isOfPostgrest: true,
  }),
  "db-read-only": flag({
    doc: "Makes every transaction read-only; PostgreSQL refuses writes with 25006 (405).",
  }),
  "db-root-spec": option({
    aliases: ["root-spec"],
    codec: functionName,
    default: null,
    doc: "Function that returns the response to `/`, instead of the generated OpenAPI document.",
    example: '"api.root"',
    isOfPostgrest: true,
  }),
  "db-safe-update": flag({
    doc: "Refuses PATCH and DELETE that have neither a filter nor a limit of rows.",
  }),
  "db-schema-watch": option({
    codec: oneOf(["notify", "auto", "poll"], "db-schema-watch"),
    default: "notify",
    doc: "How changes of the schema are noticed: by notifications, by polling, or (`auto`) by " +
      "polling unless an event trigger sends notifications.",
    example: '"auto"',
  }),
  "db-schemas": option({
    aliases: ["db-schema"],
    codec: exposedSchemas,
    default: required,
    doc: "Exposed schemas; the first is the default, and in `v2 < v1`, `v1` serves what `v2` " +
      "lacks: see [Version an API](../how-to/version-an-api.md).",
    example: '"api"',
    isOfPostgrest: true,
  }),
  "db-statement-timeout": option({
    codec: time(),
    default: null,
    doc: "`statement_timeout` of requests, unless the role, the login role or the function sets " +
      "one; 0 sets none.",
    example: '"10s"',
  }),
  "db-tx-end": option({
    codec: oneOf(
      ["commit", "commit-allow-override", "rollback", "rollback-allow-override"],
      "transaction termination",
    ),
    default: "commit",
    doc: "How transactions end, and whether `Prefer: tx=` may choose.",
    isOfPostgrest: true,
  }),
  "db-uri": option({
    codec: connectionString,
    default: required,
    doc: "Connection string, or `pglite://<folder>` or `pglite://memory` for PostgreSQL in the " +
      "process; its user is the authenticator role.",
    example: '"postgres://authenticator:secret@localhost:5432/shop"',
    reloadable: false,
    isOfPostgrest: true,
  }),
  "db-url-functions": option({
    codec: list({ expected: "names of functions in quotes, separated by commas", empty: "value" }),
    default: ["*"],
    doc: "Functions that values in URLs may call, such as `lower`; `*` allows all of the table, " +
      "an empty text none.",
    example: '"lower,date_trunc"',
  }),
} as const;
