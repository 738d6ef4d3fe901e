/** Errors of the limits that protect the process. @module */
import { defineError } from "./definition.ts";
import { quotable } from "./quoting.ts";

export const guardErrors = {
  bodyTooLarge: defineError(
    "130",
    413,
    "the body exceeds `server-max-body-size`, 1,023 MiB, or 1 MiB as a form",
    (allowed: number, length: number | null) => ({
      message: "Request body too large",
      details: length === null
        ? `At most ${allowed} bytes are accepted`
        : `The body has ${length} bytes; at most ${allowed} are accepted`,
      closesConnection: true,
    }),
  ),
  bodyExpandsTooMuch: defineError(
    "130",
    413,
    "a compressed body decodes to more than 200 times its length",
    (ratio: number) => ({
      message: "Request body too large",
      details: `The body decodes to more than ${ratio} times its length`,
      closesConnection: true,
    }),
  ),
  urlTooLong: defineError(
    "131",
    414,
    "path and query string exceed `server-max-url-length`",
    (allowed: number, length: number) => ({
      message: "URL too long",
      details: `Path and query string have ${length} bytes; at most ${allowed} are accepted`,
    }),
  ),
  headersTooLarge: defineError(
    "132",
    431,
    "the header exceeds `server-max-header-size`",
    (allowed: number, size: number) => ({
      message: "Request headers too large",
      details: `The header has ${size} bytes; at most ${allowed} are accepted`,
    }),
  ),
  bodyTooSlow: defineError(
    "133",
    408,
    "the body stalls (`server-body-timeout`) or, without a file, is slow",
    () => ({ message: "Request body was not received in time", closesConnection: true }),
  ),
  requestTimeout: defineError(
    "134",
    504,
    "the response takes longer than `server-request-timeout`; nothing was changed",
    () => ({ message: "Request was not answered in time" }),
  ),
  tooManyRequests: defineError(
    "135",
    503,
    "`server-max-requests` requests are in progress",
    () => ({
      message: "Too many requests at the same time",
      headers: [["Retry-After", "1"]],
      shedReason: "requests",
    }),
  ),
  queueOverloaded: defineError(
    "135",
    503,
    "the request waits longer than `db-pool-queue-target` under overload",
    (retryAfterSeconds: number) => ({
      message: "Too many requests at the same time",
      headers: [["Retry-After", String(retryAfterSeconds)]],
      shedReason: "queue",
    }),
  ),
  spoolFull: defineError(
    "135",
    503,
    "the temporary files have no room for a long body",
    () => ({
      message: "Too many requests at the same time",
      details: "The temporary files of long bodies have no room for this one",
      headers: [["Retry-After", "5"]],
      shedReason: "spool",
    }),
  ),
  rateLimited: defineError(
    "136",
    429,
    "a policy of `rate-limits` refuses the request",
    (
      { name, count, windowSeconds }: {
        readonly name: string;
        readonly count: number;
        readonly windowSeconds: number;
      },
      retryAfterSeconds: number,
    ) => ({
      message: "Too many requests",
      details: `Policy ${name} allows ${count} requests in ${windowSeconds} seconds`,
      headers: [["Retry-After", String(retryAfterSeconds)]],
    }),
  ),
  queryTooExpensive: defineError(
    "137",
    413,
    "the planner's cost of the query exceeds `db-max-cost`",
    (cost: number, allowed: number) => ({
      message: "The query is too expensive",
      details: `Estimated cost ${Math.ceil(cost)}, allowed ${allowed}`,
      hint: "Filter by an indexed column or set a limit",
    }),
  ),
  unsupportedContentCoding: defineError(
    "138",
    415,
    "the service cannot decode the `Content-Encoding` of the body",
    (coding: string, offered: readonly string[]) => ({
      message: "Content-Encoding not supported",
      details: `${quotable(coding)} is not one of: ${offered.join(", ")}`,
      headers: [["Accept-Encoding", offered.join(", ")]],
    }),
  ),
  undecodableBody: defineError(
    "139",
    400,
    "a compressed body is corrupt or truncated",
    (coding: string) => ({
      message: "Request body cannot be decoded",
      details: `The body is not complete data of the coding ${coding}`,
    }),
  ),

  foreignSite: defineError(
    "191",
    403,
    "in quick mode, the host is not this machine, or another site sends it",
    (header: "Host" | "Origin") =>
      header === "Host"
        ? {
          message: "The Host header names another server",
          hint: "Call http://127.0.0.1:3000, or set server-host",
        }
        : {
          message: "The request comes from another site",
          hint: "Set server-cors-allowed-origins to the origin of the site",
        },
  ),
} as const;
