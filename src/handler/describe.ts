/** Responds to the root with a description of the API as the role may use it. @module */
import { type Reply, withBookmark } from "../response/reply.ts";
import { servedMetadata } from "../response/openapi/served_metadata.ts";
import { respondToRoot } from "../response/root.ts";
import { buildRootScript, schemaMetadataOf } from "../transaction/service_scripts.ts";
import { withReplicas } from "./bookmarks.ts";
import type { Exchange } from "./exchange.ts";
import type { RequestPlan } from "./plan_request.ts";
import { ownerOf } from "./run.ts";
import { runTransaction } from "./script_run.ts";

/** Describes the API, by a document or by its metadata. */
export async function describe(
  exchange: Exchange,
  { request, plan: planned, cache }: Extract<RequestPlan, { kind: "root" }>,
): Promise<Reply> {
  const { context: { bookmarkHeader, snapshot: { config } } } = exchange;
  const transaction = buildRootScript(request, planned, ownerOf(exchange), config);
  const result = await runTransaction(exchange, withReplicas(exchange, transaction));
  exchange.stopwatch.lap("transaction");
  const found = schemaMetadataOf(result);
  const { schema, fallbacks } = planned;
  const metadata = found === null || fallbacks.length === 0
    ? found
    : servedMetadata(found, schema, cache);
  if (exchange.rootReply !== "metadata") {
    const described = bookmarkHeader === null ? config : { ...config, bookmarkHeader };
    const reply = await respondToRoot(request, planned, { metadata, cache, config: described });
    return withBookmark(reply, result);
  }
  const content = new TextEncoder().encode(metadata ?? "null");
  return { status: 200, headers: [], content, length: content.length };
}
