/** Exchanges bookmarks with clients: positions that later reads must have reached. @module */
import type { Transaction } from "../../database/transaction.ts";
import type { RequestOperation } from "./script.ts";
import { mayUseStandby, replicatedTransaction } from "./standby_use.ts";
import type { Identity } from "../../state/auth/jwt_cache.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import type { RawRequest } from "../request/raw_request.ts";

/** Maximum length of a text that may be a bookmark. Bookmarks of svc have at most 25 characters. */
const maxBookmarkLength = 64;
/** Maximum bookmarks of one request. A client that sends requests in parallel has several. */
const maxBookmarks = 8;

/** A request that may have bookmarks. */
export interface ReadingRequest {
  readonly raw: Pick<RawRequest, "headers">;
  readonly identity: Identity | null;
  readonly context: {
    /** Name of the header; null if the database has no standbys. */
    readonly bookmarkHeader: string | null;
    readonly snapshot: Snapshot;
    /** Epoch milliseconds. */
    readonly now: () => number;
  };
}

/** Returns a transaction with the data that a database with standbys needs. `operation` is a
 * request that a standby may execute; null for the primary only. */
export function withReplicas(
  { raw, context, identity }: ReadingRequest,
  transaction: Transaction,
  operation: RequestOperation | null = null,
): Transaction {
  const { bookmarkHeader, snapshot } = context;
  if (bookmarkHeader === null) return transaction;
  const { config, cache, cacheLoadedAt, roles } = snapshot;
  const bookmark = readBookmark(raw.headers[bookmarkHeader.toLowerCase()]);
  const isForStandby = operation !== null && cache !== null &&
    mayUseStandby(operation, { defaults: roles.byRole.get(identity!.role), config, cache });
  const schemaAgeMs = context.now() - cacheLoadedAt;
  const standby = isForStandby ? { bookmark, schemaAgeMs } : null;
  return replicatedTransaction(transaction, { bookmark, standby });
}

/**
 * Returns the bookmarks in a header, separated by commas; null if the header is absent. A text that
 * cannot be a bookmark is returned as the empty text, so that the primary executes the read.
 */
function readBookmark(text: string | undefined): string | null {
  if (!text) return null;
  const bookmarks = text.split(",", maxBookmarks + 1).map((each) => each.trim());
  const isList = bookmarks.length <= maxBookmarks && bookmarks.every(mayBeBookmark);
  return isList ? bookmarks.join() : "";
}

function mayBeBookmark(text: string): boolean {
  return text.length <= maxBookmarkLength && /^[!-~]+$/.test(text);
}
