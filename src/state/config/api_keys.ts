/** The option `api-keys`: a JSON list of opaque keys, or the path of a file with it. @module */
import { isJsonObject, type JsonObject } from "../../base/lib/json_object.ts";
import { isRole, jsonList } from "./json_list.ts";

/** One key, by the names of its JSON members. */
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

const members: Readonly<Record<keyof ApiKey, (value: unknown) => boolean>> = {
  name: (value) => typeof value === "string" && /^[\w.-]{1,63}$/.test(value),
  sha256: (value) => typeof value === "string" && /^[0-9a-f]{64}$/i.test(value),
  role: isRole,
  // PostgreSQL stores no text with NUL.
  claims: (value) => isJsonObject(value) && !JSON.stringify(value).includes("\\u0000"),
};

/** The codec of `api-keys`. */
export const apiKeyList = jsonList<ApiKey>({
  facts: {
    type: "JSON list of keys, or `@file`",
    expected: 'a JSON list of keys such as [{"name":"web","sha256":"…","role":"web_anon"}], ' +
      'or "@" and the path of a file with it',
    confidential: true,
  },
  noun: "key",
  maxEntries: 1000,
  members,
  read: (entry) => {
    const missing = ["name", "sha256", "role"].find((name) => !(name in entry));
    return missing === undefined ? entry as unknown as ApiKey : `${missing} is missing`;
  },
  conflict: ({ name, sha256 }, earlier) => {
    if (name === earlier.name) return "the same name as another one";
    const isSame = sha256.toLowerCase() === earlier.sha256.toLowerCase();
    return isSame ? "the same key as another one" : null;
  },
});
