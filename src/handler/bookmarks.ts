/** Carries bookmarks between clients and the database: positions that later reads must have
 * reached. @module */
import type { Batch } from "../database/batch.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Snapshot } from "../service/snapshot.ts";
import type { RequestOperation } from "../transaction/script.ts";
import { mayUseStandby, replicatedBatch } from "../transaction/standby_use.ts";
import type { Exchange } from "./exchange.ts";

/** Longest text that may be a bookmark; those of the service have at most 25 characters. */
const maxBookmarkLength = 64;
/** Most bookmarks of one request, as clients that send requests at the same time have several. */
const maxBookmarks = 8;

/**
 * Returns a batch with all that a database with standbys needs to know. `operation` is the request that a standby
 * may execute; null if only the primary may.
 */
export function withReplicas(
  { pieces, context, identity }: Exchange,
  batch: Batch,
  operation: RequestOperation | null = null,
): Batch {
  const { bookmarkHeader, snapshot } = context;
  if (bookmarkHeader === null) return batch;
  const { config, cache, cacheLoadedAt, roles } = snapshot;
  const bookmark = readBookmark(pieces, bookmarkHeader, snapshot);
  const isForStandby = operation !== null && cache !== null &&
    mayUseStandby(operation, { defaults: roles.byRole.get(identity!.role), config, cache });
  const schemaAgeMs = context.now() - cacheLoadedAt;
  const standby = isForStandby ? { bookmark, schemaAgeMs } : null;
  return replicatedBatch(batch, { bookmark, standby });
}

/**
 * Returns the bookmarks of a request, separated by commas; null without one. A header takes precedence over the
 * cookie. A text that cannot be a bookmark becomes the empty text: the primary executes its read.
 */
function readBookmark(
  { headers, cookies }: Pick<RawRequest, "cookies" | "headers">,
  bookmarkHeader: string,
  snapshot: Snapshot,
): string | null {
  const ofCookie = snapshot.config.dbBookmarkCookie ? cookies[cookieName(snapshot)] : undefined;
  const text = headers[bookmarkHeader.toLowerCase()] || ofCookie;
  if (!text) return null;
  const bookmarks = text.split(",", maxBookmarks + 1).map((each) => each.trim());
  const isList = bookmarks.length <= maxBookmarks && bookmarks.every(mayBeBookmark);
  return isList ? bookmarks.join() : "";
}

/**
 * Returns the name of the cookie that holds the bookmark of a browser, with `db-bookmark-cookie`. Tenants may
 * have the same host, and their bookmarks are of different servers.
 */
function cookieName({ auth: { tenant } }: Pick<Snapshot, "auth">): string {
  return tenant === null ? "svc-bookmark" : `svc-bookmark-${tenant.name}`;
}

function mayBeBookmark(text: string): boolean {
  return text.length <= maxBookmarkLength && /^[!-~]+$/.test(text);
}

/** Returns the cookie that holds a bookmark for a minute. */
export function bookmarkCookie(bookmark: string, snapshot: Snapshot): string {
  return `${cookieName(snapshot)}=${bookmark}; Max-Age=60; HttpOnly; SameSite=Lax; Path=/`;
}
