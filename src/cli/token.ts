/** `svc token`: prints a token that is signed with `jwt-secret`. @module */
import {
  signToken,
  type TokenClaimConfig,
  tokenClaims as standardClaims,
} from "../auth/sign_token.ts";
import { metadataBatch, type Statement } from "../database/batch.ts";
import { isEmbedded } from "../database/open.ts";
import { svcDialect } from "../dialect.ts";
import { withTimeout } from "../lib/time_limits.ts";
import { compile, param, quoteIdent, sql } from "../sql/fragment.ts";
import { type Command, type CommandCall, flagsOf } from "./command.ts";
import { configReader } from "./config_files.ts";
import { withServer } from "./with_server.ts";
import { print, printError } from "./output.ts";

/** The command. */
export const tokenCommand: Command = {
  name: "token",
  doc: "Print a token for a role, signed with jwt-secret",
  flags: flagsOf({
    "--role=ROLE": "Role of the requests",
    "--claim=NAME=VALUE…": "A further claim, as JSON or text; may be repeated",
    "--expires=TIME": "Validity, such as 30s, 10m, 1h or 7d; default: 1h",
  }),
  run: token,
};

async function token({ config: args, flags }: CommandCall): Promise<number> {
  const { config } = configReader(args);
  if (config.jwtSecret === null) {
    throw new Error("jwt-secret is not set, so no token can be signed");
  }
  const claims = tokenClaims(
    {
      role: flags.get("--role") ?? null,
      claims: flags.get("--claim")?.split("\0") ?? [],
      expires: flags.get("--expires") ?? defaultValidity,
    },
    config,
    Date.now(),
  );
  print(`${await signToken(claims, config.jwtSecret)}\n`);
  const warning = await roleWarning(config.dbUri, flags.get("--role") ?? "");
  if (warning !== null) printError(`${svcDialect.productToken}: warning: ${warning}`);
  return 0;
}

/** Milliseconds that a database may take to say whether a role exists. */
const lookupTimeoutMs = 3000;

/**
 * Returns why requests with the role would fail. Returns null if they would not, if the database does
 * not respond in time, and for an embedded database, which another process may use.
 */
async function roleWarning(uri: string, role: string): Promise<string | null> {
  if (isEmbedded(uri)) return null;
  let warning: string | null = null;
  const lookup = withServer(uri, async (database) => {
    const { rows } = await database.transaction(metadataBatch([roleStatement(role)], "rollback"));
    const [login = "", exists, mayTake] = rows.at(-1)?.[0] ?? [];
    if (exists === "f") warning = `role ${JSON.stringify(role)} does not exist`;
    else if (mayTake === "f") {
      warning = `${JSON.stringify(login)} may not become ${JSON.stringify(role)}: ` +
        `grant ${quoteIdent(role)} to ${quoteIdent(login ?? "")};`;
    }
  });
  await withTimeout(lookupTimeoutMs, lookup).catch(() => {});
  return warning;
}

/** One row: the login role, whether the role exists, whether the login role may take it. */
function roleStatement(role: string): Statement {
  const query = sql`
select current_user::text, r.oid is not null, pg_catalog.pg_has_role(r.oid, case
  when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end)
from (select ${param(role)} as name) named
  left join pg_catalog.pg_roles r on r.rolname = named.name`;
  return { ...compile(query), use: "rows" };
}

const defaultValidity = "1h";

/** The command's flags. */
export interface TokenFlags {
  readonly role: string | null;
  /** `name=value` each. */
  readonly claims: readonly string[];
  readonly expires: string;
}

/**
 * Returns the claims of a token: the role where `jwt-role-claim-key` says, `iss` if `jwt-issuer` is set,
 * `aud` if `jwt-aud` is set, `iat`, `exp`, and the claims of the flags, which replace the others. `now` is
 * in epoch milliseconds.
 */
export function tokenClaims(
  { role, claims, expires }: TokenFlags,
  config: TokenClaimConfig,
  now: number,
): Readonly<Record<string, unknown>> {
  if (role === null || role === "") throw new Error("--role=ROLE is required");
  return {
    ...standardClaims(role, config, { now, seconds: secondsOf(expires) }),
    ...Object.fromEntries(claims.map(readClaim)),
  };
}

function readClaim(text: string): readonly [name: string, value: unknown] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new Error("--claim needs a name and a value: --claim=NAME=VALUE");
  const value = text.slice(equals + 1);
  try {
    return [text.slice(0, equals), JSON.parse(value)];
  } catch {
    return [text.slice(0, equals), value];
  }
}

const unitSeconds: ReadonlyMap<string, number> = new Map([
  ["", 1],
  ["s", 1],
  ["m", 60],
  ["h", 3600],
  ["d", 86_400],
]);

/** Ten years, which keeps `exp` within what every library reads. */
const maxValiditySeconds = 315_360_000;

function secondsOf(text: string): number {
  const [, digits = "", unit = ""] = /^(\d{1,10})([smhd]?)$/.exec(text) ?? [];
  const seconds = Number(digits) * unitSeconds.get(unit)!;
  if (seconds >= 1 && seconds <= maxValiditySeconds) return seconds;
  throw new Error(`--expires: expected a time such as 30s, 10m, 1h or 7d, got "${text}"`);
}
