/** Writes batches short. @module */
import type { RequestParts } from "./request.ts";

/** An operation of a batch; what a test sends in its place may have any members. */
export type Operation = Readonly<Record<string, unknown>>;

/** Returns an operation that reads. `others` are further members, such as its headers. */
export function get(url: string, others: Operation = {}): Operation {
  return { method: "GET", url, ...others };
}

/** Returns an operation that inserts, or calls a function. */
export function post(url: string, body?: unknown, others: Operation = {}): Operation {
  return { method: "POST", url, body, ...others };
}

/** Returns an operation that updates. */
export function patch(url: string, body: unknown, others: Operation = {}): Operation {
  return { method: "PATCH", url, body, ...others };
}

/** Returns an operation that makes or replaces a row. */
export function put(url: string, body: unknown, others: Operation = {}): Operation {
  return { method: "PUT", url, body, ...others };
}

/** Returns an operation that deletes. */
export function remove(url: string, others: Operation = {}): Operation {
  return { method: "DELETE", url, ...others };
}

/** Returns the parts of a batch. `others` are members of its document beside `requests`. */
export function batchOf(
  requests: readonly Operation[],
  { headers, ...parts }: RequestParts = {},
  others: Operation = {},
): RequestParts {
  return {
    ...parts,
    headers: { "Content-Type": "application/vnd.svc.batch+json", ...headers },
    body: JSON.stringify({ ...others, requests }),
  };
}
