/** The parameters of the protocol of live queries. @module */
import { errors } from "../errors/catalogue.ts";
import { splitQuery } from "../request/url/query_string.ts";
import { type LiveOffset, readOffset } from "./offset.ts";

/** Parameters of Electric that would change the rows. */
const unsupported = /^(?:subset__.*|where|table|columns|params\[.*)$/s;
const protocolName =
  /^(?:offset|handle|live|(?:experimental_)?live_sse|log|cursor|expired_handle|cache-buster|replica)$/;
/** The offset of a content that no group has. */
const unknownOffset: LiveOffset = { xmax: 0n, ms: 0, sum: -1n };

export interface LiveParams {
  /** An answer, an answer that waits, a stream of changes, or a stream that begins with the rows. */
  readonly form: "rows" | "poll" | "changes" | "events";
  /** Parameters of the query, percent-encoded. */
  readonly query: string;
  /** Null to read all rows. */
  readonly offset: LiveOffset | null;
  readonly handle: string | null;
  /** The `xmax` that the result must exceed, so that the client sees no older state; null for any. */
  readonly minXmax: bigint | null;
}

/** Divides a query string. Throws `180`. */
export function readLiveParams(
  query: string,
  headers: Readonly<Record<string, string>>,
): LiveParams {
  const params = splitQuery(query);
  const own = new Map(params.map(({ name, value }) => [name, value]));
  const isFull = ["full", "", null].includes(own.get("log") ?? null);
  const wrong = isFull ? params.find(({ name }) => unsupported.test(name))?.name : "log";
  if (wrong !== undefined) throw errors.invalidLiveQuery(`'${wrong}' is not supported`);
  const isLive = own.get("live") === "true";
  const isStream = [own.get("live_sse"), own.get("experimental_live_sse")].includes("true");
  const isEvents = !isLive && /\btext\/event-stream\b/.test(headers["accept"] ?? "");
  const lastId = isEvents ? headers["last-event-id"] : undefined;
  const text = lastId ?? own.get("offset") ?? "-1";
  const offset = text === "-1" ? null : readOffset(text) ?? (lastId && unknownOffset);
  if (offset === undefined) throw errors.invalidLiveQuery("The offset is not that of an answer");
  const handle = own.get("handle") ?? null;
  const [, xmax] = /^([1-9]\d{0,19})-/.exec(handle ?? "") ?? [];
  const others = params.filter(({ name }) => !protocolName.test(name)).map(({ name, value }) =>
    encodeURIComponent(name) + (value === null ? "" : `=${encodeURIComponent(value)}`)
  );
  return {
    form: isEvents ? "events" : !isLive ? "rows" : isStream ? "changes" : "poll",
    query: others.join("&"),
    offset: offset || null,
    handle,
    minXmax: offset ? offset.xmax : xmax === undefined ? null : BigInt(xmax),
  };
}
