/** `Idempotency-Key`: a name that a client gives to a write, so that a repeated request has no
 * further effect. @module */
import { sha256 } from "../../base/lib/sha256.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { canonicalQuery, splitQuery } from "./url/query_string.ts";
import { preconditionHeaders } from "./preconditions.ts";
import type { RawRequest } from "./raw_request.ts";
import type { Payload } from "./body/body_decoder.ts";

/** Returns whether a request has a key, valid or not. */
export function hasIdempotencyKey({ headers }: Pick<RawRequest, "headers">): boolean {
  return headers["idempotency-key"] !== undefined;
}

/** Returns the key, with or without the quotes of RFC 9651. Throws `153` if it is malformed. */
export function readIdempotencyKey({ headers }: Pick<RawRequest, "headers">): string {
  const header = (headers["idempotency-key"] ?? "").trim();
  const key = quoted.test(header) ? header.slice(1, -1).replace(/\\(.)/g, "$1") : header;
  const isValid = key !== header || bare.test(header);
  if (!isValid || key.length < 1 || key.length > maxLength) throw errors.invalidIdempotencyKey();
  return key;
}

const maxLength = 255;

/** Matches a string of RFC 9651, section 3.3.3. */
const quoted = /^"(?:[ !#-[\]-~]|\\["\\])*"$/;
const bare = /^[!#-[\]-~]+$/;

/** Headers that influence the effect of a write or its response. */
const decidingHeaders = [
  "accept",
  "content-type",
  "prefer",
  "accept-profile",
  "content-profile",
  ...preconditionHeaders,
] as const;

/** Returns a hash of everything that influences a write and its response. Requests are equal if
 * their hashes are. */
export async function requestFingerprint(
  { method, path, query, headers }: RawRequest,
  payload: Payload | null,
): Promise<Uint8Array> {
  const head = JSON.stringify([
    method,
    path,
    canonicalQuery(splitQuery(query.toWellFormed())),
    ...decidingHeaders.map((name) => headers[name] ?? null),
    payload?.kind ?? null,
  ]);
  const parts = [await sha256(utf8.encode(head))];
  for (const bytes of bytesOf(payload)) parts.push(await sha256(bytes));
  return await sha256(new Uint8Array(parts.flatMap((part) => Array.from(part))));
}

/** Returns the bytes of a body: in one part, or in two parts for each field of a form. */
function bytesOf(payload: Payload | null): readonly Uint8Array[] {
  switch (payload?.kind) {
    case undefined:
      return [];
    case "json":
    case "patch":
      return [payload.text];
    case "raw":
      return [payload.bytes];
    case "form":
      return payload.fields.flatMap(([name, value]) => [utf8.encode(name), utf8.encode(value)]);
    default:
      return payload satisfies never;
  }
}

const utf8 = new TextEncoder();
