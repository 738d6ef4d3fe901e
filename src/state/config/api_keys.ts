/** The option `api-keys`: a JSON list of opaque keys, or the path of a file with it. @module */
import { isJsonObject, type JsonObject } from "../../base/lib/json_object.ts";
import { isRole, jsonList } from "./json_list.ts";

/** One key. Its fields have the names of the JSON members. */
export interface ApiKey {
  /** Name in logs and metrics. */
  readonly name: string;
  /** SHA-256 of the key's bytes, in hexadecimal. */
  readonly sha256: string;
  /** Database role of requests with the key. */
  readonly role: string;
  /** Claims of these requests in addition to the role. Default: none. */
  readonly claims?: JsonObject;
}

/** The codec of `api-keys`. */
export const apiKeyList = jsonList<ApiKey>({
  noun: "key",
  example: '[{"name":"web","sha256":"…","role":"web_anon"}]',
  maxEntries: 1000,
  members: {
    name: (value) => typeof value === "string" && /^[\w.-]{1,63}$/.test(value),
    sha256: (value) => typeof value === "string" && /^[0-9a-f]{64}$/i.test(value),
    role: isRole,
    // Claims with NUL are rejected, because PostgreSQL cannot store this character.
    claims: (value) => isJsonObject(value) && !JSON.stringify(value).includes("\\u0000"),
  },
  required: ["name", "sha256", "role"],
  unique: { name: "name", sha256: "key" },
  read: (key) => ({ ...key, sha256: key.sha256.toLowerCase() }),
});
