/** Passwords of roles: generates them, and makes the verifier that PostgreSQL stores. SQL with the
 * verifier does not contain the password. @module */

/** Iterations of PostgreSQL's own verifiers (`scram_iterations`). */
const iterations = 4096;

const utf8 = new TextEncoder();

/**
 * Returns the SCRAM-SHA-256 verifier of a password of ASCII characters (RFC 5802, section 3), in the
 * form of `pg_authid.rolpassword`: `SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`.
 */
export async function scramVerifier(
  password: string,
  salt: Uint8Array<ArrayBuffer> = crypto.getRandomValues(new Uint8Array(16)),
): Promise<string> {
  const key = await crypto.subtle.importKey("raw", utf8.encode(password), "PBKDF2", false, [
    "deriveBits",
  ]);
  const parameters = { name: "PBKDF2", hash: "SHA-256", salt, iterations };
  const salted = await crypto.subtle.deriveBits(parameters, key, 256);
  const clientKey = await hmac(salted, "Client Key");
  const storedKey = await crypto.subtle.digest("SHA-256", clientKey);
  const serverKey = await hmac(salted, "Server Key");
  return `SCRAM-SHA-256$${iterations}:${base64(salt)}$${base64(storedKey)}:${base64(serverKey)}`;
}

/** Returns random bytes as base64url, without characters that a URI or SQL would escape. */
export function randomText(bytes: number): string {
  return base64(crypto.getRandomValues(new Uint8Array(bytes)))
    .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function hmac(secret: ArrayBuffer, text: string): Promise<ArrayBuffer> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", secret, algorithm, false, ["sign"]);
  return await crypto.subtle.sign("HMAC", key, utf8.encode(text));
}

function base64(bytes: ArrayBuffer | Uint8Array): string {
  return btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(""));
}
