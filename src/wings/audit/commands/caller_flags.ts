/** Flags that name the caller of requests in this process. @module */
import { callerIdentity } from "../../../state/auth/authenticate.ts";
import type { Identity } from "../../../state/auth/jwt_cache.ts";
import { type CommandCall, flagsOf } from "../../../api/command.ts";

export const callerFlags = flagsOf({
  "--role=ROLE": "Role of the request",
  "--claims=JSON": "Claims of the request's token",
});

/** Returns the caller that the flags name; null without a token. Throws an `Error` if the flags are invalid. */
export function callerOf(
  flags: CommandCall["flags"],
  config: { readonly dbAnonRole: string | null },
): Identity | null {
  const [role, claims = "{}"] = [flags.get("--role"), flags.get("--claims")];
  if (role !== undefined) return callerIdentity({ role, claims }, config);
  if (flags.has("--claims")) throw new Error("--claims needs --role=ROLE");
  return null;
}
