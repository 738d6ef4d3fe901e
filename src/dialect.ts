/**
 * What differs between the dialects of the interface, one record each. Stages read these values; no
 * stage asks for a dialect's name.
 *
 * @module
 */

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
  /** Prefix of environment variables, without the underscore. */
  readonly environmentPrefix: string;
  /** Prefix of in-database settings, without the dot. */
  readonly settingPrefix: string;
  /** Default name of the notification channel. */
  readonly channel: string;
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
  environmentPrefix: "SVC",
  settingPrefix: "svc",
  channel: "svc",
};
