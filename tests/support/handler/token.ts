/** Signs the tokens of tests. @module */
import { SignJWT } from "jose";

/** The secret that test services use unless they are configured otherwise. */
export const testSecret = "reallyreallyreallyreallyverysafe";

/** Claims of a token. */
export type Claims = Readonly<Record<string, unknown>>;

/** Makes an HS256 token; no claim is added to those given. */
export function signToken(claims: Claims, secret: string = testSecret): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .sign(new TextEncoder().encode(secret));
}
