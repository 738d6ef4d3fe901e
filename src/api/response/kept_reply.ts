/** Converts replies to the form in which the table of `Idempotency-Key` stores them, and back. @module */
import type { TransactionResult } from "../../database/transaction.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { HeaderList } from "../../base/lib/header_list.ts";
import type { KeptAnswer } from "../transaction/idempotency.ts";
import type { Reply } from "./reply.ts";

/** Maximum size of a stored body. */
const maxKeptBytes = 1_048_576;

export interface KeptReplyConfig {
  /** Header that is copied from each request to its response. */
  readonly serverTraceHeader: string | null;
}

/**
 * Returns the part of a reply to store: status, body, and headers that do not belong to one
 * exchange. Returns null if the reply is not successful, or sets a cookie. Throws `156` if the body
 * is too large.
 */
export function keptAnswer(
  { status, headers, content, isKept: mayKeep = true }: Reply,
  { serverTraceHeader }: KeptReplyConfig,
): KeptAnswer | null {
  const isKept = mayKeep && status >= 200 && status < 300 &&
    !headers.some(([name]) => name.toLowerCase() === "set-cookie");
  if (!isKept) return null;
  if (content instanceof ReadableStream) throw new Error("the body of a write arrives in chunks");
  const length = content?.length ?? 0;
  if (length > maxKeptBytes) throw errors.answerTooLarge(length, maxKeptBytes);
  const traceHeader = serverTraceHeader?.toLowerCase() ?? null;
  const lasting = headers.filter(([name]) => {
    const lower = name.toLowerCase();
    return lower !== traceHeader && !momentary.test(lower);
  });
  return { status, headers: JSON.stringify(lasting), body: content };
}

/** Headers that are not stored, because they are valid for one exchange only; in lower case. */
const momentary = /^(?:server|date|server-timing|access-control-.*)$/;

/** A stored reply, or the information that the key was used for another request. */
export type KeptReply = Reply | "other request";

/** Returns the stored reply; null if the key is not in the table. */
export function replyOfKept({ columns, body: { content } }: TransactionResult): KeptReply | null {
  const [isSame, status, headers] = columns;
  if (isSame === undefined) return null;
  if (isSame !== "true") return "other request";
  if (content instanceof ReadableStream) throw new Error("a kept body arrives in chunks");
  const storedHeaders: HeaderList = JSON.parse(headers ?? "[]");
  const hasBody = storedHeaders.some(([name]) => name === "Content-Length");
  return {
    status: Number(status),
    headers: [...storedHeaders, ["Idempotent-Replayed", "true"]],
    content: hasBody ? content : null,
    length: hasBody ? content.length : null,
  };
}
