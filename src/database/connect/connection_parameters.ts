/** The parameters of a connection string, by libpq's keywords. @module */

/** Values by keyword; an empty value counts as absent. */
export type ConnectionParameters = ReadonlyMap<string, string>;

/** Environment variables, which are the defaults of absent parameters. */
export type ConnectionEnvironment = Readonly<Record<string, string | undefined>>;

type ParameterUse =
  | {
    readonly kind: "applied";
    readonly values: RegExp;
    /** Environment variable with the default; null where `pg` reads it, or where none exists. */
    readonly variable: string | null;
  }
  /** These values change nothing; all others are rejected. */
  | { readonly kind: "without effect"; readonly values: RegExp }
  | {
    readonly kind: "rejected";
    /** Environment variable that is rejected as well; null for none. */
    readonly variable: string | null;
  };

const anyValue = /^.*$/s;
const wholeNumber = /^\s*-?\d+\s*$/;
const protocol = /^TLSv1(?:\.[1-3])?$/i;

function applied(values: RegExp = anyValue, variable: string | null = null): ParameterUse {
  return { kind: "applied", values, variable };
}

function withoutEffect(values: RegExp = anyValue): ParameterUse {
  return { kind: "without effect", values };
}

/** Ignoring the parameter would be unsafe or wrong. */
const rejected: ParameterUse = { kind: "rejected", variable: null };

const uses: ReadonlyMap<string, ParameterUse> = new Map<string, ParameterUse>([
  ["application_name", applied()],
  ["channel_binding", applied(/^(?:disable|prefer|require)$/, "PGCHANNELBINDING")],
  ["connect_timeout", applied(wholeNumber, "PGCONNECT_TIMEOUT")],
  ["dbname", applied()],
  ["fallback_application_name", applied()],
  ["host", applied(anyValue, "PGHOST")],
  ["keepalives", applied(wholeNumber)],
  ["keepalives_idle", applied(wholeNumber)],
  ["options", applied()],
  ["password", applied()],
  ["port", applied(anyValue, "PGPORT")],
  ["ssl_max_protocol_version", applied(protocol, "PGSSLMAXPROTOCOLVERSION")],
  ["ssl_min_protocol_version", applied(protocol, "PGSSLMINPROTOCOLVERSION")],
  ["sslcert", applied()],
  ["sslcertmode", applied(/^(?:disable|allow)$/, "PGSSLCERTMODE")],
  ["sslcrl", applied()],
  ["sslkey", applied()],
  ["sslmode", applied(/^(?:disable|allow|prefer|require|verify-ca|verify-full)$/, "PGSSLMODE")],
  ["sslnegotiation", applied(/^(?:postgres|direct)$/)],
  ["sslpassword", applied()],
  ["sslrootcert", applied()],
  [
    "target_session_attrs",
    applied(
      /^(?:any|read-write|read-only|primary|standby|prefer-standby)$/,
      "PGTARGETSESSIONATTRS",
    ),
  ],
  ["user", applied()],

  // All connections use UTF8.
  ["client_encoding", withoutEffect()],
  ["load_balance_hosts", withoutEffect(/^disable$/)],
  // Runtimes cannot set these; 0 is the default of the system.
  ["keepalives_count", withoutEffect(/^\s*0\s*$/)],
  ["keepalives_interval", withoutEffect(/^\s*0\s*$/)],
  ["tcp_user_timeout", withoutEffect(/^\s*0\s*$/)],
  // The service does not support GSSAPI; libpq itself ignores the last two.
  ["gssdelegation", withoutEffect()],
  ["gssencmode", withoutEffect(/^(?:disable|prefer)$/)],
  ["gsslib", withoutEffect()],
  ["krbsrvname", withoutEffect()],
  ["authtype", withoutEffect()],
  ["sslcompression", withoutEffect()],
  ["max_protocol_version", withoutEffect(/^(?:3\.[02]|latest)$/)],
  ["min_protocol_version", withoutEffect(/^3\.0$/)],
  ["replication", withoutEffect(/^(?:false|off|no|0)$/i)],
  ["sslsni", withoutEffect(/^1$/)],

  ["hostaddr", rejected],
  ["oauth_client_id", rejected],
  ["oauth_client_secret", rejected],
  ["oauth_issuer", rejected],
  ["oauth_scope", rejected],
  ["passfile", rejected],
  ["require_auth", { kind: "rejected", variable: "PGREQUIREAUTH" }],
  ["requirepeer", rejected],
  ["scram_client_key", rejected],
  ["scram_server_key", rejected],
  ["service", rejected],
  ["servicefile", rejected],
  ["sslcrldir", rejected],
  ["sslkeylogfile", rejected],
]);

export function isKeyword(keyword: string): boolean {
  return uses.has(keyword);
}

/** Throws an `Error` that names the first unsupported parameter. */
export function checkParameters(options: ConnectionParameters): void {
  for (const [keyword, value] of options) if (value !== "") checkParameter(keyword, value);
}

/** Messages quote a value only where a fixed set of words is allowed, so never a password. */
function checkParameter(keyword: string, value: string): void {
  const use = uses.get(keyword);
  if (use === undefined || use.kind === "rejected") {
    throw new Error(`connection option "${keyword}" is not supported`);
  }
  if (use.values.test(value)) return;
  throw new Error(
    use.kind === "applied"
      ? `invalid ${keyword} value: "${value}"`
      : `connection option "${keyword}" does not support the value "${value}"`,
  );
}

/** Those of a connection string, and of the environment. Throws an `Error` that names others. */
export function appliedParameters(
  parameters: ConnectionParameters,
  environment: ConnectionEnvironment,
): ConnectionParameters {
  checkParameters(parameters);
  const applied = new Map<string, string>();
  for (const [keyword, use] of uses) {
    if (use.kind === "without effect") continue;
    const value = parameters.get(keyword) || (use.variable && environment[use.variable]) || "";
    if (value === "") continue;
    checkParameter(keyword, value);
    applied.set(keyword, value);
  }
  return applied;
}
