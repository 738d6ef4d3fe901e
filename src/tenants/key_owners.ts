/**
 * Finds tenants that accept each other's tokens.
 *
 * @module
 */
import { base64url } from "jose";
import type { JwtIssuer } from "../config/jwt_issuers.ts";
import type { Config } from "../config/options.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../lib/json_object.ts";

/** Options that verify tokens. */
export type KeyConfig = Pick<Config, "jwtIssuer" | "jwtIssuers" | "jwtJwksUrl" | "jwtSecret">;

/** Remembers which tenant verifies tokens by which keys. */
export class KeyOwners {
  readonly #isKnown: (name: string) => boolean;
  readonly #ownerOf = new Map<string, string>();
  readonly #keysOf = new Map<string, readonly string[]>();

  /** `isKnown` returns whether a tenant still exists. */
  constructor(isKnown: (name: string) => boolean) {
    this.#isKnown = isKnown;
  }

  /** Sets the keys of a tenant. Returns another tenant that has one of them, and changes nothing; else null. */
  claim(name: string, config: KeyConfig): string | null {
    const keys = keysOf(config);
    for (const key of keys) {
      const owner = this.#ownerOf.get(key);
      if (owner === undefined || owner === name) continue;
      if (this.#isKnown(owner)) return owner;
      this.#release(owner);
    }
    this.#release(name);
    this.#keysOf.set(name, keys);
    for (const key of keys) this.#ownerOf.set(key, name);
    return null;
  }

  #release(name: string): void {
    for (const key of this.#keysOf.get(name) ?? []) this.#ownerOf.delete(key);
    this.#keysOf.delete(name);
  }
}

/** Lists the secrets, keys, URLs and issuers whose tokens a tenant accepts. */
function keysOf({ jwtIssuer, jwtIssuers, jwtJwksUrl, jwtSecret }: KeyConfig): readonly string[] {
  return [
    ...(jwtSecret === null ? [] : secretKeys(jwtSecret)),
    ...(jwtJwksUrl === null ? [] : [`url ${jwtJwksUrl}`]),
    ...(jwtIssuer === null ? [] : [`issuer ${jwtIssuer}`]),
    ...(jwtIssuers ?? []).flatMap(issuerKeys),
  ];
}

function issuerKeys({ issuer, jwks_url: url, keys, secret }: JwtIssuer): readonly string[] {
  return [
    `issuer ${issuer}`,
    ...(url === undefined ? [] : [`url ${url}`]),
    ...(keys === undefined ? [] : jsonKeys(keys)),
    ...(secret === undefined ? [] : secretKeys(new TextEncoder().encode(secret))),
  ];
}

/** A secret is bytes, a JSON Web Key, or a set of them (RFC 7517). */
function secretKeys(secret: Uint8Array): readonly string[] {
  const found = parseJsonObject(new TextDecoder().decode(secret));
  return found === null ? [`key ${base64url.encode(secret)}`] : jsonKeys(found);
}

/** Lists the material of keys: that of a secret, a modulus, or a point of a curve. */
function jsonKeys(set: JsonObject): readonly string[] {
  const keys = Array.isArray(set["keys"]) ? set["keys"].filter(isJsonObject) : [set];
  return keys.map(({ k, n, x, y }) => `key ${k ?? n ?? `${x} ${y}`}`);
}
