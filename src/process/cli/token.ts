/** `svc token`: prints a token that is signed with `jwt-secret`. @module */
import {
  signToken,
  type TokenClaimConfig,
  tokenClaims as standardClaims,
} from "../../state/auth/sign_token.ts";
import { secondsOf } from "../../state/config/units.ts";
import { callerFlags, claimsOf } from "../../api/caller_flags.ts";
import { type Command, type CommandCall, flagsOf } from "../../api/command.ts";
import { configReader } from "../../state/config/config_files.ts";
import { svcDialect } from "../../base/dialect.ts";
import { print, printError } from "../../base/observe/output.ts";
import { isEmbedded } from "../../database/open.ts";
import { roleProblem } from "./role_problem.ts";
import { hostOf, wingOptions } from "../wings.ts";

export const tokenCommand: Command = {
  name: "token",
  doc: "Print a token for a role, signed with jwt-secret",
  example: "token --role=web_user --claim=sub=ada svc.conf",
  page: "docs/tutorials/own-database.md",
  flags: [
    ...callerFlags,
    ...flagsOf({
      "--expires=TIME": "Validity, such as 30s, 10m, 1h or 7d; default: 1h",
    }),
  ],
  run: token,
};

async function token({ config: args, flags }: CommandCall): Promise<number> {
  const { config } = configReader(args, { wingOptions });
  if (config.jwtSecret === null) {
    throw new Error("jwt-secret is not set, so no token can be signed");
  }
  const claims = tokenClaims(
    {
      role: flags.get("--role") ?? null,
      claims: claimsOf(flags),
      expires: flags.get("--expires") ?? defaultValidity,
    },
    config,
    Date.now(),
  );
  print(`${await signToken(claims, config.jwtSecret)}\n`);
  const problem = hostOf(config) !== null || isEmbedded(config.dbUri)
    ? null
    : await roleProblem(config.dbUri, flags.get("--role")!).catch(() => null);
  if (problem !== null) printError(`${svcDialect.productToken}: warning: ${problem}`);
  return 0;
}

const defaultValidity = "1h";

export interface TokenFlags {
  readonly role: string | null;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly expires: string;
}

/**
 * Returns the claims of a token: the role at the path of `jwt-role-claim-key`, `iss` if
 * `jwt-issuer` is set, `aud` if `jwt-aud` is set, `iat`, `exp`, and the claims of the flags, which
 * override other claims. `now` is in epoch milliseconds.
 */
export function tokenClaims(
  { role, claims, expires }: TokenFlags,
  config: TokenClaimConfig,
  now: number,
): Readonly<Record<string, unknown>> {
  if (role === null || role === "") throw new Error("--role=ROLE is required");
  return {
    ...standardClaims(role, config, { now, seconds: validityOf(expires) }),
    ...claims,
  };
}

/** Maximum validity: ten years. Every library can read such an `exp`. */
const maxValiditySeconds = 315_360_000;

function validityOf(text: string): number {
  const seconds = secondsOf(text);
  if (seconds !== null && seconds >= 1 && seconds <= maxValiditySeconds) return seconds;
  throw new Error(`--expires: expected a time such as 30s, 10m, 1h or 7d, got "${text}"`);
}
