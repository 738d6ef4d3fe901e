/**
 * The table of options, one row each. The `Config` type, the environment variables, the example file,
 * the dump and the option reference derive from it.
 *
 * @module
 */
import { svcDialect } from "../dialect.ts";
import { logLevels } from "../observe/observation.ts";
import {
  checkSchema,
  isHeaderName,
  isHost,
  isHostName,
  isOrigin,
  isProxyUri,
  isSettingName,
  isSocketPath,
  isUri,
  startsRolePath,
} from "./checks.ts";
import {
  boolean,
  type Codec,
  dialectName,
  fileMode,
  functionName,
  integer,
  list,
  oneOf,
  text,
} from "./codecs.ts";
import type { CamelCase } from "./names.ts";
import { connectionString, tokenSecret } from "./secret.ts";
import { size, time } from "./units.ts";

/** The default of a required option. */
const required = { required: true } as const;

/** The default of an option that defaults to the value of another option. */
interface SameAs {
  readonly sameAs: "server-host";
}

/** The default of an option whose default depends on the dialect: `Dialect.defaults`. */
const ofDialect = { ofDialect: true } as const;

/** Returns whether a default marks a required option. */
export function isRequired(fallback: unknown): boolean {
  return fallback === required;
}

/** Returns whether a default is another option's value. */
export function isSameAs(fallback: unknown): fallback is SameAs {
  return typeof fallback === "object" && fallback !== null && "sameAs" in fallback;
}

/** Returns whether a default depends on the dialect. */
export function isOfDialect(fallback: unknown): boolean {
  return fallback === ofDialect;
}

type Fallback<T> = T | null | typeof required | typeof ofDialect | SameAs;

/** One option. `T` is the type of its values, `D` the type of its default; null for none. */
export interface Option<T, D = Fallback<T>> {
  /** Other spellings of the key, used if the key has no value in any source. Default: none. */
  readonly aliases?: readonly string[];
  /** The aliases take precedence over the key. Default: false. */
  readonly aliasFirst?: true;
  readonly codec: Codec<T>;
  readonly default: D;
  /** Whether a reload of the configuration applies a new value. */
  readonly reloadable: boolean;
  /** Whether the database may set it, as `svc.<key with underscores>`. */
  readonly inDatabase: boolean;
  /** One sentence. */
  readonly doc: string;
  /** A sensible value, as text of the file. */
  readonly example: string;
  /** The example file sets the option instead of commenting it out. Default: false. */
  readonly isUncommented?: true;
  /** The option is checked, but has no effect. Default: false. */
  readonly isUnused?: true;
  /** PostgREST lacks the option: the dump omits it at its default. Default: false. */
  readonly extension?: true;
}

function option<T, const D extends Fallback<T>>(
  row: Option<T, D>,
): Option<T, D> {
  return row;
}

const name = (what: string) => text({ type: "text", expected: `${what} in quotes` });

const host = text({
  type: "text",
  expected: 'a host name, an address or one of "*", "*4", "!4", "*6", "!6", in quotes',
  check: isHost,
});

const socketPath = text({
  type: "path",
  expected: "a path in quotes of at most 107 bytes",
  check: isSocketPath,
});

const port = integer({ min: 0, max: 65535 });

/** Timers count milliseconds in 31 bits. */
const seconds = (min: number) => integer({ min, max: 2_147_483 });

export const options = {
  "admin-allowed-hosts": option({
    codec: list({
      expected: "host names in quotes, separated by commas",
      empty: "unset",
      check: isHostName,
    }),
    default: null,
    reloadable: true,
    inDatabase: false,
    doc:
      "Host names, besides `localhost` and IP addresses, that requests for the protected paths of " +
      "the admin server may have.",
    example: '"admin.example.com"',
    extension: true,
  }),
  "admin-server-host": option({
    codec: host,
    default: { sameAs: "server-host" },
    reloadable: false,
    inDatabase: false,
    doc: "Host that the admin server binds to.",
    example: '"127.0.0.1"',
  }),
  "admin-server-port": option({
    codec: port,
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Port of the admin server, which runs only if it is set; must differ from `server-port`.",
    example: "3001",
  }),
  "admin-server-unix-socket": option({
    codec: socketPath,
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Unix socket of the admin server, instead of `admin-server-port`.",
    example: '"/run/svc/admin.sock"',
  }),
  "admin-server-unix-socket-mode": option({
    codec: fileMode("admin-server-unix-socket-mode"),
    default: 0o660,
    reloadable: false,
    inDatabase: false,
    doc: "File mode of the admin server's Unix socket.",
    example: '"660"',
  }),
  "client-error-verbosity": option({
    codec: oneOf(
      ["verbose", "minimal", "advise"],
      "Invalid client-error-verbosity. Check your configuration.",
      ["advise"],
    ),
    default: "verbose",
    reloadable: true,
    inDatabase: true,
    doc:
      "Members of error bodies: `minimal` sends only `code` and `message`; `advise` also fills " +
      "missing hints with what to do.",
    example: '"minimal"',
  }),
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
  "db-pool": option({
    codec: integer({ min: 1, max: 262_143 }),
    default: 10,
    reloadable: false,
    inDatabase: false,
    doc: "Maximum number of connections in the pool.",
    example: "10",
    isUncommented: true,
  }),
  "db-pool-acquisition-timeout": option({
    codec: seconds(0),
    default: 10,
    reloadable: false,
    inDatabase: false,
    doc: "Seconds that a request waits for a connection before it fails with SVC003.",
    example: "10",
  }),
  "db-pool-automatic-recovery": option({
    codec: boolean,
    default: true,
    reloadable: true,
    inDatabase: false,
    doc:
      "Reconnects if the connection is lost; if false, the process exits, and a library handler " +
      "reconnects at its next request.",
    example: "false",
  }),
  "db-pool-max-idletime": option({
    aliases: ["db-pool-timeout"],
    aliasFirst: true,
    codec: seconds(0),
    default: 30,
    reloadable: false,
    inDatabase: false,
    doc: "Seconds after which the pool closes an idle connection.",
    example: "30",
  }),
  "db-pool-max-lifetime": option({
    codec: seconds(0),
    default: 1800,
    reloadable: false,
    inDatabase: false,
    doc: "Seconds after which the pool replaces a connection, as soon as it is idle.",
    example: "1800",
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
  "db-prepared-statements": option({
    codec: boolean,
    default: true,
    reloadable: true,
    inDatabase: true,
    doc: "Uses prepared statements; must be false behind a pooler in transaction mode.",
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
  "dialect": option({
    codec: dialectName,
    default: svcDialect,
    reloadable: false,
    inDatabase: false,
    doc: "Dialect of the interface; `pgrst` is that of PostgREST.",
    example: '"svc"',
    extension: true,
  }),
  "jwt-aud": option({
    codec: text({
      type: "text or URI",
      expected: "an audience in quotes; with a colon in it, a URI",
      check: (value) =>
        !value.includes(":") || isUri(value) || "jwt-aud should be a string or a valid URI",
    }),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Audience that the `aud` claim of tokens must name.",
    example: '"https://example.com/api"',
  }),
  "jwt-cache-max-entries": option({
    codec: integer({ min: Number.MIN_SAFE_INTEGER }),
    default: 1000,
    reloadable: true,
    inDatabase: true,
    doc: "Maximum number of verified tokens in the cache; 0 or less turns the cache off.",
    example: "1000",
  }),
  "jwt-claim-settings": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: false,
    doc:
      "Sets each claim of a token as `request.jwt.claim.<name>`, too, as old versions of PostgREST did.",
    example: "true",
    extension: true,
  }),
  "jwt-role-claim-key": option({
    aliases: ["role-claim-key"],
    codec: text({
      type: "JSONPath",
      expected: 'a JSONPath in quotes such as "$$.role"',
      check: (path) => startsRolePath(path) || `failed to parse role-claim-key value (${path})`,
    }),
    default: "$.role",
    reloadable: true,
    inDatabase: true,
    doc: "JSONPath of the role in a token's claims; in a file, `$$` stands for one `$`.",
    example: '"$$.role"',
    isUncommented: true,
  }),
  "jwt-secret": option({
    codec: tokenSecret,
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Secret of at least 32 bytes, JSON Web Key or key set that tokens are verified with; " +
      "`@` and a path names a file that holds it.",
    example: '"a secret of at least thirty-two characters"',
    isUncommented: true,
  }),
  "jwt-secret-is-base64": option({
    aliases: ["secret-is-base64"],
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "`jwt-secret` is base64.",
    example: "false",
    isUncommented: true,
  }),
  "log-level": option({
    codec: oneOf(logLevels, "Invalid logging level. Check your configuration."),
    default: "error",
    reloadable: true,
    inDatabase: false,
    doc: "Log level; logged requests: none, status 500 and up, 400 and up, all, all.",
    example: '"error"',
    isUncommented: true,
  }),
  "log-query": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: false,
    doc: "Logs the SQL of logged requests.",
    example: "false",
    isUncommented: true,
  }),
  "openapi-mode": option({
    codec: oneOf(
      ["follow-privileges", "ignore-privileges", "disabled"],
      "Invalid openapi-mode. Check your configuration.",
    ),
    default: "follow-privileges",
    reloadable: true,
    inDatabase: true,
    doc: "OpenAPI document at `/`: by the privileges of the role, with everything, or disabled.",
    example: '"follow-privileges"',
    isUncommented: true,
  }),
  "openapi-security-active": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "Adds security definitions to the OpenAPI document at `/`.",
    example: "true",
  }),
  "openapi-server-proxy-uri": option({
    aliases: ["server-proxy-uri"],
    codec: text({
      type: "URI",
      expected: "an http or https URI in quotes of host, port and path",
      check: (value) =>
        isProxyUri(value) ||
        "Malformed proxy uri, a correct example: https://example.com:8443/basePath",
    }),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Base URL in the OpenAPI document at `/`.",
    example: '"https://example.com:8443/basePath"',
  }),
  "openapi-version": option({
    codec: oneOf(["2.0", "3.1"], "Invalid openapi-version. Check your configuration."),
    default: "2.0",
    reloadable: true,
    inDatabase: true,
    doc: "OpenAPI version of the document at `/`, unless `Accept` names one.",
    example: '"3.1"',
    extension: true,
  }),
  "server-cors-allowed-origins": option({
    codec: list({
      expected: 'origins in quotes, separated by commas, such as "https://example.com"',
      empty: "unset",
      check: isOrigin,
      isHarmless: true,
    }),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Origins that CORS allows; if it is not set, CORS allows any.",
    example: '"https://example.com, https://www.example.com:8443"',
  }),
  "server-host": option({
    codec: host,
    default: ofDialect,
    reloadable: false,
    inDatabase: false,
    doc:
      "Host to bind to: a name, an address, `*` (any), `*4`/`*6` (any, IPv4/IPv6 preferred) or " +
      "`!4`/`!6` (IPv4/IPv6 only).",
    example: '"*4"',
    isUncommented: true,
  }),
  "server-max-body-size": option({
    codec: size(),
    default: 0,
    reloadable: true,
    inDatabase: true,
    doc: "Largest request body in bytes; a longer one fails with SVC130. 0 sets no limit.",
    example: '"10m"',
    extension: true,
  }),
  "server-port": option({
    codec: port,
    default: 3000,
    reloadable: false,
    inDatabase: false,
    doc: "Port to bind to; 0 takes any free port.",
    example: "3000",
    isUncommented: true,
  }),
  "server-reuseport": option({
    codec: boolean,
    default: false,
    reloadable: false,
    inDatabase: false,
    doc: "Lets several processes share the port (`SO_REUSEPORT`).",
    example: "false",
    isUncommented: true,
  }),
  "server-spool-size": option({
    codec: size(),
    default: 10 * 1024 ** 3,
    reloadable: true,
    inDatabase: true,
    doc: "Bytes that the temporary files of long bodies may have in all; 0 lets no body use one.",
    example: '"10g"',
    extension: true,
  }),
  "server-timing-enabled": option({
    codec: boolean,
    default: false,
    reloadable: true,
    inDatabase: true,
    doc: "Sends the `Server-Timing` header.",
    example: "false",
    isUncommented: true,
  }),
  "server-trace-header": option({
    codec: text({
      type: "header name",
      expected: "a header's name in quotes",
      check: isHeaderName,
    }),
    default: null,
    reloadable: true,
    inDatabase: true,
    doc: "Request header to copy to the response.",
    example: '"X-Request-Id"',
  }),
  "server-unix-socket": option({
    codec: socketPath,
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Unix socket to listen on, instead of `server-host` and `server-port`.",
    example: '"/run/svc/svc.sock"',
  }),
  "server-unix-socket-mode": option({
    codec: fileMode("server-unix-socket-mode"),
    default: 0o660,
    reloadable: false,
    inDatabase: false,
    doc: "File mode of the Unix socket.",
    example: '"660"',
  }),
  "url-use-legacy-target-names": option({
    codec: boolean,
    default: true,
    reloadable: true,
    inDatabase: true,
    doc: "Lets filters address an aliased embed by the name of its relation; deprecated.",
    example: "true",
    isUncommented: true,
  }),
} as const;

/** Documentation of the settings that pass through to the database. */
export const appSettings = {
  key: "app.settings.*",
  environment: "APP_SETTINGS_*",
  type: "text",
  doc: "Settings that SQL reads with `current_setting('app.settings.<name>', true)`.",
  example: 'app.settings.region = "eu"',
} as const;

export type OptionKey = keyof typeof options;

/** The rows without their types, in alphabetical order. */
export const rows = Object.entries(options) as readonly (readonly [OptionKey, Option<unknown>])[];

type OptionValue<O> = O extends Option<infer T, infer D> ? T | (D extends null ? null : never)
  : never;

type OptionValues = {
  readonly [Key in OptionKey as CamelCase<Key>]: OptionValue<(typeof options)[Key]>;
};

/** The whole configuration: one field per option, named by its key in camel case. */
export interface Config extends OptionValues {
  /** Full names with their values, in the order in which each transaction sets them. */
  readonly appSettings: readonly (readonly [name: string, value: string])[];
}
