/** Opaque keys, which give a request a role and claims as a token does. @module */
import { errors } from "../../base/errors/catalogue.ts";
import type { ApiKey } from "../config/api_keys.ts";
import { claimsWithRole } from "./claims.ts";
import type { Identity } from "./jwt_cache.ts";

/** A key as it is compared. */
interface PreparedKey {
  /** SHA-256 in lower-case hexadecimal. */
  readonly hash: string;
  readonly identity: Identity;
}

/** Returns whether a credential is an opaque key: a JWT has three parts. */
export function isOpaque(credential: string): boolean {
  return credential.split(".", 4).length !== 3;
}

/** The keys of a configuration. A reload replaces them as a whole. */
export class ApiKeys {
  readonly #keys: readonly PreparedKey[];
  /** The identities of keys that were sent, so that each is hashed once. It has no other texts. */
  readonly #identities = new Map<string, Identity>();

  constructor(keys: readonly ApiKey[], dbAnonRole: string | null) {
    this.#keys = keys.map((key) => ({
      hash: key.sha256.toLowerCase(),
      identity: {
        role: key.role,
        authenticated: key.role !== dbAnonRole,
        claims: claimsWithRole(JSON.stringify(key.claims ?? {}), key.role),
        key,
      },
    }));
  }

  /** Returns whether a key of an earlier configuration is listed, with the same role and claims. */
  has(key: ApiKey): boolean {
    const text = JSON.stringify(key);
    return this.#keys.some(({ identity }) => JSON.stringify(identity.key) === text);
  }

  /** Returns the identity of a key. Rejects with `SVC301` if it is not listed. */
  identify(key: string): Identity | Promise<Identity> {
    return this.#identities.get(key) ?? this.#compare(key);
  }

  async #compare(key: string): Promise<Identity> {
    const hash = await sha256Of(key);
    let identity: Identity | null = null;
    for (const each of this.#keys) if (isSameHash(hash, each.hash)) identity = each.identity;
    if (identity === null) throw errors.unknownApiKey();
    this.#identities.set(key, identity);
    return identity;
  }
}

/** Returns the hash of a key as `api-keys` has it. */
export async function sha256Of(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Compares all characters, so that the time does not tell how many are equal. */
function isSameHash(one: string, other: string): boolean {
  let difference = 0;
  for (let index = 0; index < one.length; index++) {
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index);
  }
  return difference === 0;
}
