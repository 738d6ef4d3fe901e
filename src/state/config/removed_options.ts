/** Options that earlier versions had. @module */

/** Advice for the error message, by key. */
export const removedOptions: ReadonlyMap<string, string> = new Map([
  ["tenant-db-pool", "each tenant has an equal share of tenants-db-pool"],
  ["batch-pre-request", "remove it: each operation of a batch runs db-pre-request"],
  ["admin-slow-request", "remove it: the console lists requests from 1 s as slow"],
  ["db-schema-watch-interval", "remove it: the service polls every 2 s"],
  ["metrics-max-routes", "remove it: the metrics count 200 routes apart"],
  ["server-compression-min-size", "remove it: responses from 1 KiB are compressed"],
  [
    "idempotency-max-bytes",
    "remove it: responses of up to 1 MiB are kept; send Prefer: return=minimal for larger ones",
  ],
  ["tenant-idle", "remove it: a tenant without a request for 10 minutes is closed"],
  ["jwt-jwks-max-stale", "remove it: known keys serve one day longer if their source fails"],
  ["db-pool-queue-target", "remove it: server-max-requests bounds how many requests wait"],
  ["db-bookmark-cookie", "send the header Svc-Bookmark of an answer with the requests after it"],
  ["db-replica-wait", "remove it: the primary executes a read that no standby has the data for"],
  ["key-store", "remove it: each instance fetches the keys of issuers"],
  ["mcp-max-bytes", "remove it: a result has at most 64 KiB; mcp-max-rows lowers it"],
  ["db-relationships", "set db-comment-tags, and declare the keys in comments of the relations"],
]);
