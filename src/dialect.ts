/**
 * What differs between the dialects of the interface, one record each. Stages read these values; no
 * stage asks for a dialect's name.
 *
 * @module
 */
import type { LogLevel } from "./observe/observation.ts";

/** A state or a class of states, a test of the message if there is one, and the status. */
export interface StatusRule {
  /** The whole SQLSTATE or how it begins. */
  readonly state: string;
  readonly message?: RegExp;
  readonly status: number;
}

/** Errors of the service that the dialects number differently. */
export type ErrorVariant = "claims" | "content type" | "raise";

/** Where relative paths begin: in the configuration file's folder, or in the process's. */
export type FileBase = "configuration file" | "working directory";

/** One spelling of the interface. */
export interface Dialect {
  /** The configuration value that selects this record. */
  readonly name: string;
  /** Prefix of the service's own error codes: `SVC116`. */
  readonly errorPrefix: string;
  /** Display name: log lines, `Proxy-Status`, `application_name`. */
  readonly displayName: string;
  /** Product token of the `Server` header. */
  readonly productToken: string;
  /** The `<vendor>` of `application/vnd.<vendor>.object+json`. */
  readonly vendor: string;
  /** Name of the only column of a function's result that is not a row type. */
  readonly scalarColumn: string;
  /** Prefix of environment variables, without the underscore. */
  readonly environmentPrefix: string;
  /** Prefix of in-database settings, without the dot, and of metrics, without the underscore. */
  readonly settingPrefix: string;
  /** Where the interface is documented for those who use it; null where it is nowhere but here. */
  readonly documentation: string | null;

  /** Defaults of configuration keys that the table of options leaves to the dialect, as texts. */
  readonly defaults: Readonly<Record<string, string>>;
  /** The grammar of the configuration file: TOML, or the older one with groups and imports. */
  readonly fileSyntax: "toml" | "groups";
  /**
   * What becomes of keys that do not exist and of values that are not of their key's type: both are
   * refused, or the former are ignored and the latter are as if they were not set.
   */
  readonly invalidConfig: "rejected" | "ignored";
  /** Where a relative path of a value that stands in a file of its own (`@path`) begins. */
  readonly valueFiles: FileBase;
  /** The version is told to PostgreSQL for connection strings of keywords, too. */
  readonly namesApplicationInKeywords: boolean;

  /** Statuses by SQLSTATE that go before the common ones. */
  readonly statuses: readonly StatusRule[];
  /** Code (without prefix) and status of errors that differ from the catalogue's. */
  readonly variants: Readonly<
    Partial<Record<ErrorVariant, { readonly code: string; readonly status: number }>>
  >;
  /** Details that describe a database server: sent to clients and logged, or logged only. */
  readonly serverDetails: "sent" | "logged";
  /** Failures of the service's own (500), but for those of connections: logged in full, or not. */
  readonly ownFailures: "logged" | "not logged";
  /** Loads of the schema cache after which the pool replaces its connections. */
  readonly poolFlush: "every load" | "all but the first";
  /** What `Retry-After` says: the seconds until the next attempt, or always 0. */
  readonly retryAfter: "seconds" | "zero";
  /** What the trace header is answered with when the request has none. */
  readonly missingTrace: "omitted" | "empty";
  /** Status of the admin server's checks while the API is not served. */
  readonly notServingStatus: 500 | 503;
  /** `--ready` where the admin server binds to all addresses: asks the loopback ones, or fails. */
  readonly readyOnWildcard: "loopback" | "error";
  /** The lowest level that logs what is wrong with the surroundings of the service. */
  readonly findingSeverity: LogLevel;
  /** Whether the admin server shows the configuration. */
  readonly configPage: "shown" | "absent";
  /** Whether the admin server shows the schema cache to this machine alone, or to any peer. */
  readonly schemaCachePage: "guarded" | "open";

  /** `limit` and `offset` of PATCH and DELETE: they limit what is changed, or are ignored. */
  readonly limitedChanges: "limited" | "ignored";
  /** `select=` of a write, where the relation has a primary key: all columns, or those of the key. */
  readonly emptySelect: "all columns" | "primary key";
  /** Another filter than a null test on an embed: refused, or taken for one on a column. */
  readonly embedFilters: "rejected" | "column";
  /** `...rel()` of a relation with many rows: refused, or each of its columns is an array. */
  readonly toManySpreads: "rejected" | "arrays";
  /** `Range-Unit` beside `Content-Range`. */
  readonly rangeUnit: "sent" | "left out";
}

/** SQLSTATEs whose message and detail fields carry a whole response as JSON. */
export const fullControlStates: ReadonlySet<string> = new Set(["SVC00", "PGRST"]);

/** The requirements to the letter. */
export const svcDialect: Dialect = {
  name: "svc",
  errorPrefix: "SVC",
  displayName: "SVC",
  productToken: "svc",
  vendor: "svc",
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
  namesApplicationInKeywords: false,
  statuses: [],
  variants: {},
  serverDetails: "logged",
  ownFailures: "logged",
  poolFlush: "all but the first",
  retryAfter: "seconds",
  missingTrace: "omitted",
  notServingStatus: 503,
  readyOnWildcard: "loopback",
  findingSeverity: "crit",
  configPage: "shown",
  schemaCachePage: "guarded",
  limitedChanges: "limited",
  emptySelect: "all columns",
  embedFilters: "rejected",
  toManySpreads: "rejected",
  rangeUnit: "sent",
};

/** PostgREST 16. */
export const pgrstDialect: Dialect = {
  name: "pgrst",
  errorPrefix: "PGRST",
  displayName: "PostgREST",
  productToken: "postgrest",
  vendor: "pgrst",
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
  namesApplicationInKeywords: true,
  statuses: [
    { state: "21000", message: /requires a WHERE clause$/, status: 400 },
    { state: "21000", status: 500 },
    { state: "22023", message: /^role.*does not exist$/s, status: 401 },
    { state: "42883", message: /^function xmlagg\(/, status: 406 },
    { state: "53400", status: 500 },
    { state: "54", status: 500 },
  ],
  variants: {
    "claims": { code: "303", status: 401 },
    "content type": { code: "102", status: 400 },
    "raise": { code: "121", status: 500 },
  },
  serverDetails: "sent",
  ownFailures: "not logged",
  poolFlush: "every load",
  retryAfter: "zero",
  missingTrace: "empty",
  notServingStatus: 500,
  readyOnWildcard: "error",
  findingSeverity: "warn",
  configPage: "absent",
  schemaCachePage: "open",
  limitedChanges: "ignored",
  emptySelect: "primary key",
  embedFilters: "column",
  toManySpreads: "arrays",
  rangeUnit: "left out",
};

/** All dialects by name. */
export const dialects: ReadonlyMap<string, Dialect> = new Map(
  [svcDialect, pgrstDialect].map((dialect) => [dialect.name, dialect]),
);
