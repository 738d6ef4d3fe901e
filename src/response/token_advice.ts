/**
 * Hints for tokens whose signature cannot be verified. They never show an expected value.
 *
 * @module
 */
import { bearerToken } from "../auth/credential.ts";
import { parseJsonObject } from "../lib/json_object.ts";

/** Returns the hint for error 301 by its details and the token; null for others. */
export function tokenAdvice(details: unknown, authorization: string | undefined): string | null {
  const token = authorization === undefined ? null : bearerToken(authorization);
  if (token === null) return null;
  if (/^["'].*["']$/.test(token)) return "Send the token without quotes";
  if (details === "None of the keys was able to decode the JWT") {
    return "The signature does not fit jwt-secret";
  }
  if (details !== "No suitable key was found to decode the JWT") return null;
  return namesKey(token) ? "No key with that kid" : "No key for that alg";
}

function namesKey(token: string): boolean {
  try {
    const base64 = token.slice(0, token.indexOf(".")).replaceAll("-", "+").replaceAll("_", "/");
    return typeof parseJsonObject(atob(base64))?.["kid"] === "string";
  } catch {
    return false;
  }
}
