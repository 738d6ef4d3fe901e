/** Opaque keys. Like a token, a key gives a request its role and claims. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { areEqual, hexOf, sha256 } from "../../base/lib/sha256.ts";
import type { ApiKey } from "../config/api_keys.ts";
import { checkTenant, claimsWithRole, type TenantRule } from "./claims.ts";
import type { Identity } from "./jwt_cache.ts";

/** Returns whether a credential is an opaque key, and not a JWT: a JWT has three parts, without
 * spaces and commas. */
export function isOpaque(credential: string): boolean {
  return !/^[^.\s,]*\.[^.\s,]*\.[^.\s,]*$/.test(credential);
}

/** The keys of a configuration. A reload replaces them as a whole. */
export class ApiKeys {
  readonly #keys: readonly (readonly [hash: Uint8Array, identity: Identity])[];
  /** Identities of keys that clients have sent, so that each key is hashed only once. Unlisted
   * texts are not stored. */
  readonly #identities = new Map<string, Identity>();

  constructor(keys: readonly ApiKey[], dbAnonRole: string | null) {
    this.#keys = keys.map((key) => {
      const claims = claimsWithRole(JSON.stringify(key.claims ?? {}), key.role);
      const authenticated = key.role !== dbAnonRole;
      return [bytesOf(key.sha256), { role: key.role, authenticated, claims, key }];
    });
  }

  /** Returns whether a key of an earlier configuration is still listed, with the same role and claims. */
  has(key: ApiKey): boolean {
    const text = JSON.stringify(key);
    return this.#keys.some(([, identity]) => JSON.stringify(identity.key) === text);
  }

  /** Returns the identity of a key. Rejects with `SVC301` if it is not listed, with `SVC319` if it
   * is for another tenant. */
  async identify(key: string, tenant: TenantRule | null = null): Promise<Identity> {
    const identity = this.#identities.get(key) ?? this.#find(await sha256(key));
    this.#identities.set(key, identity);
    if (tenant !== null) checkTenant(JSON.parse(identity.claims), tenant);
    return identity;
  }

  #find(hash: Uint8Array): Identity {
    const [entry] = this.#keys.filter(([each]) => areEqual(hash, each));
    if (entry === undefined) throw errors.unknownApiKey();
    return entry[1];
  }
}

/** Returns the hash of a key in the form of `api-keys`. */
export async function hashOf(key: string): Promise<string> {
  return hexOf(await sha256(key));
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g)!, (byte) => parseInt(byte, 16));
}
