/** The differences between the dialects of the interface, one record per dialect. Stages read these
 * values; no stage compares a dialect's name. @module */
import type { LogLevel } from "./log_level.ts";

/** An SQLSTATE or a class of them, an optional pattern of the message, and the status. */
export interface StatusRule {
  /** A whole SQLSTATE or a prefix of it. */
  readonly state: string;
  readonly message?: RegExp;
  readonly status: number;
}

/** Errors whose code or status differs between the dialects. */
export type ErrorVariant =
  | "claims"
  | "content type"
  | "function"
  | "issuer"
  | "issuer rules"
  | "raise"
  | "revocation";

/**
 * Folder that relative paths start from: the configuration file's folder, or the working directory.
 */
export type FileBase = "configuration file" | "working directory";

/** One dialect of the interface. */
export interface Dialect {
  /** The configuration value that selects this record. */
  readonly name: string;
  /** Prefix of error codes that svc defines: `SVC116`. */
  readonly errorPrefix: string;
  /** Display name: log lines, `Proxy-Status`, `application_name`. */
  readonly displayName: string;
  /** Product token of the `Server` header. */
  readonly productToken: string;
  /** The `<vendor>` of `application/vnd.<vendor>.object+json`. */
  readonly vendor: string;
  /** Header, in requests and responses, with a position that later reads must have reached. */
  readonly bookmarkHeader: string;
  /** Column name for the result of a function that returns no row type. */
  readonly scalarColumn: string;
  /** Prefix of environment variables, without the underscore. */
  readonly environmentPrefix: string;
  /** Prefix of in-database settings, without the dot, and of metrics, without the underscore. */
  readonly settingPrefix: string;
  /** URL of the API documentation, or null. */
  readonly documentation: string | null;

  /** Defaults, as text, of options whose default depends on the dialect. */
  readonly defaults: Readonly<Record<string, string>>;
  /** Grammar of the configuration file: TOML, or the Configurator grammar with groups and imports. */
  readonly fileSyntax: "toml" | "groups";
  /** How the configuration treats unknown keys and values of the wrong type. `rejected`: the start
   * fails. `ignored`: the option is unset, and the service waits for schemas that do not exist. */
  readonly invalidConfig: "rejected" | "ignored";
  /** Folder that a relative `@path` starts from. Such a value is read from the file. */
  readonly valueFiles: FileBase;
  /** Whether the environment variable `DATABASE_URL` sets `db-uri` if nothing else does. */
  readonly databaseUrl: "used" | "ignored";
  /** Whether `application_name` is also set if the connection string has keywords (`host=…`). */
  readonly namesApplicationInKeywords: boolean;

  /** Statuses by SQLSTATE that take precedence over `statusBySqlstate`. */
  readonly statuses: readonly StatusRule[];
  /** Hints by SQLSTATE. They override hints of PostgreSQL, but not the hint of a RAISE. */
  readonly hints: Readonly<Record<string, string>>;
  /** Codes and statuses that replace the code or status of the catalogue. Codes have no prefix. */
  readonly variants: Readonly<
    Partial<Record<ErrorVariant, { readonly code: string; readonly status: number }>>
  >;
  /** Details that describe a database server: sent to clients and logged, or logged only. */
  readonly serverDetails: "sent" | "logged";
  /** Details of the error for a request whose backend ends its connection: the server's message, or libpq's. */
  readonly endedBackend: "server's message" | "no connection";
  /** Whether svc logs its 500 errors in full. Connection errors are excepted. */
  readonly ownFailures: "logged" | "not logged";
  /** Message for an invalid query string: in words, or in the wording of PostgREST's parser. */
  readonly parseErrors: "in words" | "of the parser";
  /** Whether svc logs a hint for errors that lack one. */
  readonly advice: "logged" | "not logged";
  /** Which loads of the schema cache make the pool replace its connections. */
  readonly poolFlush: "every load" | "all but the first";
  /** How long the service stays ready if it cannot listen to notifications of the database. */
  readonly maxListenerLossMs: number;
  /** Log text that explains the new syntax of `jwt-role-claim-key`. */
  readonly rolePathGuide: string;
  /** Value of `Retry-After`: the seconds until the next connection attempt, or always 0. */
  readonly retryAfter: "seconds" | "zero";
  /** Trace header of a response whose request has no trace header. */
  readonly missingTrace: "omitted" | "empty";
  /** Status of the admin server's checks while the API is not served. */
  readonly notServingStatus: 500 | 503;
  /** How `--ready` works if the admin server binds to all addresses: by a loopback address,
   * or not at all. */
  readonly readyOnWildcard: "loopback" | "error";
  /** The lowest `log-level` that logs problems of the environment, such as lost notifications. */
  readonly findingSeverity: LogLevel;
  /** The lowest `log-level` that logs the number of findings of the diagnosis. */
  readonly findingsLevel: LogLevel;
  /** Whether the admin server shows the configuration. */
  readonly configPage: "shown" | "absent";
  /**
   * Clients that may read the schema cache on the admin server: programs on this machine, or all.
   */
  readonly schemaCachePage: "guarded" | "open";

  /** Parameters that PostgREST ignores on writes, such as `limit`. `applied`: invalid ones fail. */
  readonly writeParameters: "applied" | "ignored";
  /** Form of CSV. `exact`: by RFC 4180, with NULL distinct from texts. `row text`: PostgreSQL's text of
   * a row, in which NULL can be the field `NULL`. */
  readonly csv: "exact" | "row text";
  /** The columns that an empty `select=` of a write returns if the relation has a primary key. */
  readonly emptySelect: "all columns" | "primary key";
  /** Treatment of a filter that names an embed and is not a null test. `column`: it names a column. */
  readonly embedFilters: "rejected" | "column";
  /** Treatment of `...rel()` of a to-many relation. `arrays`: each of its columns is an array. */
  readonly toManySpreads: "rejected" | "arrays";
  /** Whether the response to OPTIONS lists QUERY if the resource supports this method. */
  readonly queryMethod: "listed" | "not listed";
  /** `Range-Unit` in a response with `Content-Range`. */
  readonly rangeUnit: "sent" | "left out";
  /** Shared caches that may store answers. `any`: all caches that respect `Vary`. `without tokens`:
   * only caches that do not store answers to requests with `Authorization`. */
  readonly sharedCaches: "any" | "without tokens";
}

/** SQLSTATEs whose message and detail fields carry a whole response as JSON. */
export const fullControlStates: ReadonlySet<string> = new Set(["SVC00", "PGRST"]);

/** The default dialect. */
export const svcDialect: Dialect = {
  name: "svc",
  errorPrefix: "SVC",
  displayName: "SVC",
  productToken: "svc",
  vendor: "svc",
  bookmarkHeader: "Svc-Bookmark",
  scalarColumn: "svc_scalar",
  environmentPrefix: "SVC",
  settingPrefix: "svc",
  documentation: null,
  defaults: {
    "db-channel": "svc",
    "server-host": "*4",
    "db-hoisted-tx-settings": "statement_timeout",
  },
  fileSyntax: "toml",
  invalidConfig: "rejected",
  valueFiles: "configuration file",
  databaseUrl: "used",
  namesApplicationInKeywords: false,
  statuses: [{ state: "55000", status: 400 }],
  hints: {
    "40001": "Send the request again",
    "40P01": "Send the request again",
    "55P03": "Send the request again",
    "428C9": "Leave generated columns out of the body and of 'columns'",
  },
  variants: {},
  serverDetails: "logged",
  endedBackend: "server's message",
  ownFailures: "logged",
  parseErrors: "in words",
  advice: "logged",
  poolFlush: "all but the first",
  maxListenerLossMs: 30_000,
  rolePathGuide: '`.a.b` is written `$.a.b`, `."a b"` is written `$["a b"]`.',
  retryAfter: "seconds",
  missingTrace: "omitted",
  notServingStatus: 503,
  readyOnWildcard: "loopback",
  findingSeverity: "crit",
  findingsLevel: "crit",
  configPage: "shown",
  schemaCachePage: "guarded",
  writeParameters: "applied",
  csv: "exact",
  emptySelect: "all columns",
  embedFilters: "rejected",
  toManySpreads: "rejected",
  queryMethod: "listed",
  rangeUnit: "sent",
  sharedCaches: "any",
};

/** PostgREST 16. */
export const pgrstDialect: Dialect = {
  name: "pgrst",
  errorPrefix: "PGRST",
  displayName: "PostgREST",
  productToken: "postgrest",
  vendor: "pgrst",
  bookmarkHeader: "Pgrst-Bookmark",
  scalarColumn: "pgrst_scalar",
  environmentPrefix: "PGRST",
  settingPrefix: "pgrst",
  documentation: "https://docs.postgrest.org/en/v16/references/api.html",
  defaults: {
    "db-channel": "pgrst",
    "server-host": "!4",
    "db-hoisted-tx-settings":
      "statement_timeout,plan_filter.statement_cost_limit,default_transaction_isolation",
    "db-schemas": "public",
    "db-uri": "postgresql://",
  },
  fileSyntax: "groups",
  invalidConfig: "ignored",
  valueFiles: "working directory",
  databaseUrl: "ignored",
  namesApplicationInKeywords: true,
  statuses: [
    { state: "21000", message: /requires a WHERE clause$/, status: 400 },
    { state: "21000", status: 500 },
    { state: "22023", message: /^role.*does not exist$/s, status: 401 },
    { state: "42883", message: /^function xmlagg\(/, status: 406 },
    { state: "53400", status: 500 },
    { state: "54", status: 500 },
  ],
  hints: {},
  variants: {
    "claims": { code: "303", status: 401 },
    "content type": { code: "102", status: 400 },
    "function": { code: "100", status: 400 },
    "issuer": { code: "311", status: 401 },
    "issuer rules": { code: "312", status: 401 },
    "raise": { code: "121", status: 500 },
    "revocation": { code: "314", status: 401 },
  },
  serverDetails: "sent",
  endedBackend: "no connection",
  ownFailures: "not logged",
  parseErrors: "of the parser",
  advice: "not logged",
  poolFlush: "every load",
  maxListenerLossMs: 0,
  rolePathGuide:
    "See the migration guide on how to update: https://github.com/PostgREST/postgrest/" +
    "blob/main/CHANGELOG.md#changed-syntax-for-jwt-role-extraction",
  retryAfter: "zero",
  missingTrace: "empty",
  notServingStatus: 500,
  readyOnWildcard: "error",
  findingSeverity: "warn",
  findingsLevel: "debug",
  configPage: "absent",
  schemaCachePage: "open",
  writeParameters: "ignored",
  csv: "row text",
  emptySelect: "primary key",
  embedFilters: "column",
  toManySpreads: "arrays",
  queryMethod: "not listed",
  rangeUnit: "left out",
  sharedCaches: "without tokens",
};

/** All dialects by name. */
export const dialects: ReadonlyMap<string, Dialect> = new Map(
  [svcDialect, pgrstDialect].map((dialect) => [dialect.name, dialect]),
);
