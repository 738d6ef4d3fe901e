/** Replies that the table of keys keeps, and back. @module */
import type { TransactionResult } from "../../database/transaction.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { KeptAnswer } from "../transaction/idempotency.ts";
import type { Reply } from "./reply.ts";

/** Largest body of a reply that is kept. */
const maxKeptBytes = 1_048_576;

export interface KeptReplyConfig {
  /** Header that is copied from each request. */
  readonly serverTraceHeader: string | null;
}

/**
 * Returns what is kept of a reply: its status, body, and the headers that do not belong to one exchange.
 * Returns null for a reply that is not kept: no success, or one that sets a cookie. Throws `156` if the
 * body is too large.
 */
export function keptAnswer(
  { status, headers, content, isKept: mayKeep = true }: Reply,
  { serverTraceHeader }: KeptReplyConfig,
): KeptAnswer | null {
  const isKept = mayKeep && status >= 200 && status < 300 &&
    !headers.some(([name]) => name.toLowerCase() === "set-cookie");
  if (!isKept) return null;
  if (content instanceof ReadableStream) throw new Error("the body of a write arrives in pieces");
  const length = content?.length ?? 0;
  if (length > maxKeptBytes) throw errors.answerTooLarge(length, maxKeptBytes);
  const traceHeader = serverTraceHeader?.toLowerCase() ?? null;
  const lasting = headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return lower !== traceHeader && !momentary.test(lower);
  });
  return { status, headers: JSON.stringify(lasting), body: content };
}

/** Headers of one exchange, by their lower-case names. */
const momentary = /^(?:server|date|server-timing|access-control-.*)$/;

/** A reply of the table, or the news that its key was used for another request. */
export type KeptReply = Reply | "other request";

/** Returns the kept reply; null if the key is not in the table. */
export function replyOfKept({ columns, body: { content } }: TransactionResult): KeptReply | null {
  const [isSame, status, headers] = columns;
  if (isSame === undefined) return null;
  if (isSame !== "true") return "other request";
  if (content instanceof ReadableStream) throw new Error("a kept body arrives in pieces");
  const kept: HeaderList = JSON.parse(headers ?? "[]");
  const hasBody = kept.some(([name]) => name === "Content-Length");
  return {
    status: Number(status),
    headers: [...kept, ["Idempotent-Replayed", "true"]],
    content: hasBody ? content : null,
    length: hasBody ? content.length : null,
  };
}
