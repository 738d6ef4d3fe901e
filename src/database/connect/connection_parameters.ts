/**
 * The options of a connection string, by libpq's keywords.
 *
 * Source: PostgreSQL documentation, "Parameter Key Words" and "Environment Variables" of libpq.
 *
 * @module
 */

/** Options by keyword; an empty value is the same as none. */
export type ConnectionParameters = ReadonlyMap<string, string>;

/** Variables that say what a connection string leaves open. */
export type ConnectionEnvironment = Readonly<Record<string, string | undefined>>;

/** What becomes of an option. */
type Use =
  | {
    readonly kind: "applied";
    readonly values: RegExp;
    /** The variable that has the value if the connection string has none; `pg` reads some itself. */
    readonly variable: string | null;
  }
  /** These values change nothing here, and others are refused. */
  | { readonly kind: "without effect"; readonly values: RegExp }
  | { readonly kind: "refused" };

const anyValue = /^.*$/s;
const wholeNumber = /^\s*-?\d+\s*$/;
const authMethod = "(?:password|md5|gss|sspi|scram-sha-256|oauth|none)";
const authMethods = new RegExp(
  `^(?:${authMethod}(?:,${authMethod})*|!${authMethod}(?:,!${authMethod})*)$`,
);
const protocol = /^TLSv1(?:\.[1-3])?$/i;

function applied(values: RegExp = anyValue, variable: string | null = null): Use {
  return { kind: "applied", values, variable };
}

function withoutEffect(values: RegExp = anyValue): Use {
  return { kind: "without effect", values };
}

/** An option that would be a danger, or an error, if it were passed over. */
const refused: Use = { kind: "refused" };

const uses: ReadonlyMap<string, Use> = new Map<string, Use>([
  ["application_name", applied()],
  ["channel_binding", applied(/^(?:disable|prefer|require)$/, "PGCHANNELBINDING")],
  ["connect_timeout", applied(wholeNumber, "PGCONNECT_TIMEOUT")],
  ["dbname", applied()],
  ["fallback_application_name", applied()],
  ["host", applied(anyValue, "PGHOST")],
  ["hostaddr", applied()],
  ["keepalives", applied(wholeNumber)],
  ["keepalives_idle", applied(wholeNumber)],
  ["load_balance_hosts", applied(/^(?:disable|random)$/, "PGLOADBALANCEHOSTS")],
  ["options", applied()],
  ["passfile", applied()],
  ["password", applied()],
  ["port", applied(anyValue, "PGPORT")],
  ["require_auth", applied(authMethods, "PGREQUIREAUTH")],
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
  // Runtimes cannot set these.
  ["keepalives_count", withoutEffect()],
  ["keepalives_interval", withoutEffect()],
  ["tcp_user_timeout", withoutEffect()],
  // There is no GSSAPI here, and libpq itself passes over the last two.
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

  ["oauth_client_id", refused],
  ["oauth_client_secret", refused],
  ["oauth_issuer", refused],
  ["oauth_scope", refused],
  ["requirepeer", refused],
  ["scram_client_key", refused],
  ["scram_server_key", refused],
  ["service", refused],
  ["servicefile", refused],
  ["sslcrldir", refused],
  ["sslkeylogfile", refused],
]);

/** Returns whether libpq has a keyword. */
export function isKeyword(keyword: string): boolean {
  return uses.has(keyword);
}

/** Throws an `Error` that names the first option that cannot be used. */
export function checkParameters(options: ConnectionParameters): void {
  for (const [keyword, value] of options) if (value !== "") checkParameter(keyword, value);
}

/** Values are named only where a few words are allowed, of which a password is none. */
function checkParameter(keyword: string, value: string): void {
  const use = uses.get(keyword);
  if (use === undefined || use.kind === "refused") {
    throw new Error(`connection option "${keyword}" is not supported`);
  }
  if (use.values.test(value)) return;
  throw new Error(
    use.kind === "applied"
      ? `invalid ${keyword} value: "${value}"`
      : `connection option "${keyword}" does not support the value "${value}"`,
  );
}

/**
 * Returns the options that are applied: those of a connection string, and those of the environment
 * for what the string leaves open. Throws an `Error` that names what cannot be used.
 */
export function appliedParameters(
  given: ConnectionParameters,
  environment: ConnectionEnvironment,
): ConnectionParameters {
  checkParameters(given);
  const options = new Map<string, string>();
  for (const [keyword, use] of uses) {
    if (use.kind !== "applied") continue;
    const value = given.get(keyword) || (use.variable && environment[use.variable]) || "";
    if (value === "") continue;
    checkParameter(keyword, value);
    options.set(keyword, value);
  }
  return options;
}
