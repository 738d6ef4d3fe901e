/** Evaluates the preconditions of reads (RFC 9110, section 13.2.2), and tags content that the
 * service creates. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { matchesStrongly, matchesWeakly, readTag } from "../../base/http/etag.ts";
import { hexOf, sha256 } from "../../base/lib/sha256.ts";
import type { Preconditions } from "../request/preconditions.ts";
import type { Reply } from "./reply.ts";

/** Headers about a body, or about how it was made. A 304 omits them. */
const ofBody: ReadonlySet<string> = new Set([
  "content-encoding",
  "content-length",
  "content-profile",
  "content-range",
  "content-type",
  "preference-applied",
  "range-unit",
]);

/** Returns the reply, or 304 if the client has its content. Throws `151` unless `If-Match` holds. */
export function conditionalReply(
  reply: Reply,
  { ifMatch, ifNoneMatch }: Preconditions,
  hasRows: boolean,
): Reply {
  const { status, headers } = reply;
  if (ifMatch === null && ifNoneMatch === null || status < 200 || status > 299) return reply;
  const text = headers.find(([name]) => name.toLowerCase() === "etag")?.[1];
  const tag = text === undefined ? null : readTag(text);
  if (ifMatch !== null && !(ifMatch === "*" ? hasRows : matchesStrongly(ifMatch, tag))) {
    throw errors.preconditionFailed();
  }
  if (tag === null || ifNoneMatch === null || !matchesWeakly(ifNoneMatch, tag)) return reply;
  const rest = headers.filter(([name]) => !ofBody.has(name.toLowerCase()));
  return { status: 304, headers: rest, content: null, length: null };
}

/** Returns the entity tag of content, in the form that the database uses for results without a version. */
export async function contentTag(content: Uint8Array): Promise<string> {
  const hashed = new Uint8Array(content.length + 1);
  hashed.set(content);
  hashed[content.length] = lineFeed;
  return `-${hexOf((await sha256(hashed)).subarray(0, 16))}`;
}

/** The byte that the database hashes between the content and the total. Here, no total follows. */
const lineFeed = 0x0a;
