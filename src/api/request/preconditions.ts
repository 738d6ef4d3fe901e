/** Preconditions of requests: `If-Match` and `If-None-Match` (RFC 9110, section 13). @module */
import { errors } from "../../base/errors/catalogue.ts";
import { readTagList, type TagList } from "../../base/http/etag.ts";
import type { RawRequest } from "./raw_request.ts";
import type { Action } from "./action.ts";

/** The preconditions that apply to a request; null for each that is absent. */
export interface Preconditions {
  readonly ifMatch: TagList | null;
  readonly ifNoneMatch: TagList | null;
}

/** Names of the headers. */
export const preconditionHeaders = ["if-match", "if-none-match"] as const;

export const noPreconditions: Preconditions = { ifMatch: null, ifNoneMatch: null };

const maxTags = 64;

/** Parses the preconditions of an action. Ignores preconditions that do not apply to it, for
 * example of POST. Throws `159`. */
export function readPreconditions(
  action: Action,
  { headers, received }: Pick<RawRequest, "headers" | "received">,
): Preconditions {
  if (received?.method === "POST") return noPreconditions;
  switch (action.kind) {
    case "read":
      return action.headersOnly
        ? noPreconditions
        : { ifMatch: read("If-Match", headers), ifNoneMatch: read("If-None-Match", headers) };
    case "call":
      return action.method === "GET" || action.method === "QUERY"
        ? ifNoneMatch(headers)
        : noPreconditions;
    case "root":
      return action.headersOnly ? noPreconditions : ifNoneMatch(headers);
    case "put": {
      const { ifNoneMatch: none } = ifNoneMatch(headers);
      return { ifMatch: read("If-Match", headers), ifNoneMatch: none === "*" ? none : null };
    }
    case "update":
    case "delete":
      return { ifMatch: read("If-Match", headers), ifNoneMatch: null };
    case "insert":
    case "options":
      return noPreconditions;
    default:
      return action satisfies never;
  }
}

function ifNoneMatch(headers: Readonly<Record<string, string>>): Preconditions {
  return { ifMatch: null, ifNoneMatch: read("If-None-Match", headers) };
}

function read(
  name: "If-Match" | "If-None-Match",
  headers: Readonly<Record<string, string>>,
): TagList | null {
  const value = headers[name.toLowerCase()];
  if (value === undefined) return null;
  const tags = readTagList(value, maxTags);
  if (tags === null) throw errors.invalidPrecondition(name);
  return tags;
}
