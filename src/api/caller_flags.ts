/** Flags that name the caller of requests in this process, or of a token. @module */
import { parseJson, parseJsonObject } from "../base/lib/json_object.ts";
import { callerIdentity } from "../state/auth/authenticate.ts";
import type { Identity } from "../state/auth/jwt_cache.ts";
import { type CommandCall, flagsOf } from "./command.ts";

export const callerFlags = flagsOf({
  "--role=ROLE": "Role of the requests",
  "--claims=JSON": "Claims of their token",
  "--claim=NAME=VALUE…": "A further claim, as JSON or text; may be repeated",
});

/** Returns the caller that the flags name; null without a token. Throws an `Error` if the flags are invalid. */
export function callerOf(
  flags: CommandCall["flags"],
  config: { readonly dbAnonRole: string | null },
): Identity | null {
  const [role, json = "{}"] = [flags.get("--role"), flags.get("--claims")];
  // The text of `--claims` is not parsed, because JSON.parse() would round large numbers.
  const claims = flags.has("--claim") ? JSON.stringify(claimsOf(flags)) : json;
  if (role !== undefined) return callerIdentity({ role, claims }, config);
  const flag = ["--claims", "--claim"].find((name) => flags.has(name));
  if (flag !== undefined) throw new Error(`${flag} needs --role=ROLE`);
  return null;
}

/** Returns the claims of the flags. Throws an `Error` if they are invalid. */
export function claimsOf(flags: CommandCall["flags"]): Readonly<Record<string, unknown>> {
  const claims = parseJsonObject(flags.get("--claims") ?? "{}");
  if (claims === null) throw new Error("expected claims as a JSON object");
  return {
    ...claims,
    ...Object.fromEntries(flags.get("--claim")?.split("\0").map(readClaim) ?? []),
  };
}

function readClaim(text: string): readonly [name: string, value: unknown] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new Error("--claim needs a name and a value: --claim=NAME=VALUE");
  const value = text.slice(equals + 1);
  return [text.slice(0, equals), value === "null" ? null : parseJson(value) ?? value];
}
