/** The parameters of a connection string, by libpq's keywords. @module */

/** Values by keyword; an empty value is treated as absent. */
export type ConnectionParameters = ReadonlyMap<string, string>;

/** Environment variables, which are the defaults of absent parameters. */
export type ConnectionEnvironment = Readonly<Record<string, string | undefined>>;

interface ConnectionParameter {
  readonly values: RegExp;
  /** Environment variable with the default; null if `pg` reads it, or if none exists. */
  readonly variable: string | null;
}

const anyValue = /^.*$/s;
const wholeNumber = /^\s*-?\d+\s*$/;
const zero = /^\s*0\s*$/;
const protocol = /^TLSv1(?:\.[1-3])?$/i;
/** Matches no value, for parameters that svc does not support and must not ignore. */
const noValue = /(?!)/;

/** Keywords with any text as value. Keywords of the last line have no effect here. */
const texts = [
  ..."application_name dbname fallback_application_name options password user".split(" "),
  ..."sslcert sslcrl sslkey sslpassword sslrootcert".split(" "),
  ..."client_encoding gssdelegation gsslib krbsrvname authtype sslcompression".split(" "),
];

function parameter(values: RegExp, variable: string | null = null): ConnectionParameter {
  return { values, variable };
}

const parameters: ReadonlyMap<string, ConnectionParameter> = new Map([
  ...texts.map((keyword) => [keyword, parameter(anyValue)] as const),
  ["channel_binding", parameter(/^(?:disable|prefer|require)$/, "PGCHANNELBINDING")],
  ["connect_timeout", parameter(wholeNumber, "PGCONNECT_TIMEOUT")],
  ["host", parameter(anyValue, "PGHOST")],
  ["keepalives", parameter(wholeNumber)],
  ["keepalives_idle", parameter(wholeNumber)],
  ["port", parameter(anyValue, "PGPORT")],
  ["ssl_max_protocol_version", parameter(protocol, "PGSSLMAXPROTOCOLVERSION")],
  ["ssl_min_protocol_version", parameter(protocol, "PGSSLMINPROTOCOLVERSION")],
  ["sslcertmode", parameter(/^(?:disable|allow)$/, "PGSSLCERTMODE")],
  ["sslmode", parameter(/^(?:disable|allow|prefer|require|verify-ca|verify-full)$/, "PGSSLMODE")],
  ["sslnegotiation", parameter(/^(?:postgres|direct)$/)],
  [
    "target_session_attrs",
    parameter(
      /^(?:any|read-write|read-only|primary|standby|prefer-standby)$/,
      "PGTARGETSESSIONATTRS",
    ),
  ],

  ["require_auth", parameter(noValue, "PGREQUIREAUTH")],

  // Each of the remaining parameters is accepted only with values that have no effect.
  ["load_balance_hosts", parameter(/^disable$/, "PGLOADBALANCEHOSTS")],
  // The next three accept 0, the default of the system, because runtimes cannot set them.
  ["keepalives_count", parameter(zero)],
  ["keepalives_interval", parameter(zero)],
  ["tcp_user_timeout", parameter(zero)],
  ["gssencmode", parameter(/^(?:disable|prefer)$/)],
  ["max_protocol_version", parameter(/^(?:3\.[02]|latest)$/)],
  ["min_protocol_version", parameter(/^3\.0$/)],
  ["replication", parameter(/^(?:false|off|no|0)$/i)],
  ["sslsni", parameter(/^1$/)],
]);

export function isKeyword(keyword: string): boolean {
  return parameters.has(keyword);
}

/** Throws an `Error` that names the first unsupported value. */
export function checkParameters(options: ConnectionParameters): void {
  for (const [keyword, value] of options) {
    // The error never contains a password, because any password is a valid value.
    if (value !== "" && !parameters.get(keyword)!.values.test(value)) {
      throw new Error(`invalid ${keyword} value: "${value}"`);
    }
  }
}

/** Returns the parameters of a connection string, with defaults from the environment. Throws an
 * `Error` that names an unsupported value. */
export function appliedParameters(
  options: ConnectionParameters,
  environment: ConnectionEnvironment,
): ConnectionParameters {
  const applied = new Map<string, string>();
  for (const [keyword, { variable }] of parameters) {
    const value = options.get(keyword) || (variable && environment[variable]) || "";
    if (value !== "") applied.set(keyword, value);
  }
  checkParameters(applied);
  return applied;
}
