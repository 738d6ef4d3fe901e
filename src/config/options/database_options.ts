/**
 * Options of the database: connections, schemas and transactions.
 *
 * @module
 */
import { capabilityNames, isCapabilityOverride } from "../../database/capabilities.ts";
import { checkKeyDeclarations, checkSchema, isSettingName } from "../checks.ts";
import { boolean, booleanOr, functionName, integer, list, oneOf, text } from "../codecs.ts";
import { connectionString, serverConnectionString } from "../secret.ts";
import { time } from "../units.ts";
import { ofDialect, option, required } from "./option.ts";
import { name } from "./shared_codecs.ts";

export const databaseOptions = {
  "db-aggregates-enabled": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "Allows aggregate functions in `select`.",
    example: "true",
  }),
  "db-anon-role": option({
    codec: name("a role's name"),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Role of requests without a token; if it is not set, they fail with SVC302.",
    example: '"web_anon"',
    isUncommented: true,
  }),
  "db-anon-statement-timeout": option({
    codec: time(),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "`db-statement-timeout` of requests with `db-anon-role`; 0 sets none.",
    example: '"2s"',
    extension: true,
  }),
  "db-capabilities": option({
    codec: list({
      expected: `+ or - and one of ${capabilityNames.join(", ")}`,
      empty: "value",
      check: isCapabilityOverride,
    }),
    default: [],
    reloadable: false,
    inDatabase: false,
    doc: "Overrules which parts of PostgreSQL the service finds in the server: `+name` or `-name`.",
    example: '"-notify"',
    extension: true,
  }),
  "db-channel": option({
    codec: name("a channel's name"),
    default: ofDialect,
    reloadable: true,
    inDatabase: false,
    doc: "Notification channel for reload requests.",
    example: '"svc"',
    isUncommented: true,
  }),
  "db-channel-enabled": option({
    codec: boolean,
    default: true,
    reloadable: true,
    inDatabase: false,
    doc: "Listens on `db-channel`; reconnects after one second, then with exponential backoff.",
    example: "true",
    isUncommented: true,
  }),
  "db-channel-uri": option({
    codec: serverConnectionString,
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Connection string, without a pooler, of the connection that listens on `db-channel`.",
    example: '"postgres://authenticator:secret@db.internal:5432/shop"',
    extension: true,
  }),
  "db-comment-tags": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "Reads the tags in comments, at each load of the schema cache: the keys of relations " +
      "(`@primaryKey`, `@unique`, `@foreignKey`), and `@primary` of relations and functions that " +
      "only the primary reads.",
    example: "true",
    extension: true,
  }),
  "db-config": option({
    codec: boolean,
    default: true,
    reloadable: true,
    inDatabase: false,
    doc: "Also reads configuration and role settings from the database.",
    example: "true",
    isUncommented: true,
  }),
  "db-embedded-init": option({
    codec: text({ type: "path", expected: "the path of an SQL file in quotes" }),
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "SQL file to run once, when the service creates an embedded database (`pglite://…`).",
    example: '"init.sql"',
    extension: true,
  }),
  "db-extra-search-path": option({
    codec: list({ expected: "schemas in quotes, separated by commas", empty: "value" }),
    default: ["public"],
    reloadable: true,
    inDatabase: true,
    doc: "Schemas to append to the search path of every request; an empty text adds none.",
    example: '"public"',
    isUncommented: true,
  }),
  "db-hoisted-tx-settings": option({
    codec: list({
      expected: "names of settings in quotes, separated by commas",
      empty: "unset",
      check: isSettingName,
    }),
    default: ofDialect,
    reloadable: true,
    inDatabase: true,
    doc: "Settings of a function that apply to the whole transaction that calls it.",
    example: '"statement_timeout, default_transaction_isolation"',
  }),
  "db-max-cost": option({
    codec: integer({ min: 0 }),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc:
      "Highest planner's cost of reads and writes, unless the role sets `svc.db_max_cost`; a higher " +
      "one fails with SVC137, and 0 sets no limit.",
    example: "10000",
    extension: true,
  }),
  "db-max-rows": option({
    aliases: ["max-rows"],
    codec: integer({ min: 0 }),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Maximum number of rows that a request reads from a table, a view or a function.",
    example: "1000",
  }),
  "db-pipelining": option({
    codec: boolean,
    default: true,
    reloadable: true,
    inDatabase: true,
    doc:
      "Sends several short transactions in one write while connections are busy; each has its own " +
      "commit.",
    example: "true",
    extension: true,
  }),
  "db-plan-enabled": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "Allows requests for execution plans: `Accept: application/vnd.svc.plan`.",
    example: "true",
  }),
  "db-pre-config": option({
    codec: functionName,
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Function that the service calls to read configuration from the database.",
    example: '"internal.pre_config"',
  }),
  "db-pre-request": option({
    aliases: ["pre-request"],
    codec: functionName,
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Function that every transaction calls, after it sets the role and before the query.",
    example: '"internal.check_request"',
  }),
  "db-password-file": option({
    codec: text({ type: "path", expected: "the path of a file in quotes" }),
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "File with the password, read again for each new connection; it replaces those of " +
      "connection strings.",
    example: '"/run/secrets/db_password"',
    extension: true,
  }),
  "db-prepared-statements": option({
    codec: booleanOr("auto"),
    default: true,
    reloadable: true,
    inDatabase: true,
    doc: 'Uses prepared statements; must be `false` or `"auto"` behind a pooler in transaction ' +
      'mode. `"auto"` tries whether they outlast a transaction.',
    example: "true",
    isUncommented: true,
  }),
  "db-read-only": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "Makes every transaction read-only; PostgreSQL refuses writes with 25006 (405).",
    example: "true",
    extension: true,
  }),
  "db-root-spec": option({
    aliases: ["root-spec"],
    codec: functionName,
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Function that returns the response to `/`, instead of the generated OpenAPI document.",
    example: '"api.root"',
  }),
  "db-relationships": option({
    codec: text({
      type: "keys",
      expected: 'keys in quotes, such as "api.v foreignKey (a) references api.t (id)"',
      check: checkKeyDeclarations,
    }),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc:
      "Keys of relations that PostgreSQL does not know, separated by `;`, read at each load of the " +
      "schema cache; see [Relate views](../how-to/relate-views.md).",
    example: '"api.open_orders primaryKey (id)"',
    extension: true,
  }),
  "db-safe-update": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "Refuses PATCH and DELETE that have neither a filter nor a limit of rows.",
    example: "true",
    extension: true,
  }),
  "db-schema-watch": option({
    codec: oneOf(
      ["notify", "auto", "poll"],
      "Invalid db-schema-watch. Check your configuration.",
    ),
    default: "notify",
    reloadable: true,
    inDatabase: true,
    doc:
      "How changes of the schema are noticed: by notifications, by polling, or (`auto`) by polling " +
      "unless an event trigger sends notifications.",
    example: '"auto"',
    extension: true,
  }),
  "db-schema-watch-interval": option({
    codec: time({ min: 1 }),
    default: 2,
    reloadable: true,
    inDatabase: true,
    doc: "Time between two looks at the schema while the service polls.",
    example: "2",
    extension: true,
  }),
  "db-schemas": option({
    aliases: ["db-schema"],
    codec: list({
      expected: "schemas in quotes, separated by commas",
      empty: "unset",
      check: checkSchema,
    }),
    default: required,
    reloadable: true,
    inDatabase: true,
    doc: "Exposed schemas; the first is the default.",
    example: '"api"',
    isUncommented: true,
  }),
  "db-statement-timeout": option({
    codec: time(),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc:
      "`statement_timeout` of requests, unless the role, the login role or the function sets one; " +
      "0 sets none.",
    example: '"10s"',
    extension: true,
  }),
  "db-tx-end": option({
    codec: oneOf(
      ["commit", "commit-allow-override", "rollback", "rollback-allow-override"],
      "Invalid transaction termination. Check your configuration.",
    ),
    default: "commit",
    reloadable: true,
    inDatabase: true,
    doc: "How transactions end, and whether `Prefer: tx=` may choose.",
    example: '"commit"',
    isUncommented: true,
  }),
  "db-uri": option({
    codec: connectionString,
    default: required,
    reloadable: false,
    inDatabase: false,
    doc: "Connection string, or `pglite://<folder>` or `pglite://memory` for PostgreSQL in the " +
      "process; its user is the authenticator role.",
    example: '"postgres://authenticator:secret@localhost:5432/shop"',
    isUncommented: true,
  }),
  "db-url-functions": option({
    codec: list({ expected: "names of functions in quotes, separated by commas", empty: "value" }),
    default: ["*"],
    reloadable: true,
    inDatabase: true,
    doc:
      "Functions that values in URLs may call, such as `lower`; `*` allows all of the table, an " +
      "empty text none.",
    example: '"lower,date_trunc"',
    extension: true,
  }),
} as const;
