/** Errors of the limits that protect the process. @module */
import { defineError } from "./definition.ts";
import { quotable } from "./quoting.ts";

export const guardErrors = {
  bodyTooLarge: defineError("130", 413, (allowed: number, length: number | null) => ({
    message: "Request body too large",
    details: length === null
      ? `At most ${allowed} bytes are accepted`
      : `The body has ${length} bytes; at most ${allowed} are accepted`,
    closesConnection: true,
  })).when("the body exceeds `server-max-body-size`, 1,023 MiB, or 1 MiB as a form"),
  bodyExpandsTooMuch: defineError("130", 413, (ratio: number) => ({
    message: "Request body too large",
    details: `The body decodes to more than ${ratio} times its length`,
    closesConnection: true,
  })).when("a compressed body decodes to more than 200 times its length"),
  urlTooLong: defineError("131", 414, (allowed: number, length: number) => ({
    message: "URL too long",
    details: `Path and query string have ${length} bytes; at most ${allowed} are accepted`,
  })).when("path and query string exceed `server-max-url-length`"),
  headersTooLarge: defineError("132", 431, (allowed: number, size: number) => ({
    message: "Request headers too large",
    details: `The header has ${size} bytes; at most ${allowed} are accepted`,
  })).when("the header exceeds `server-max-header-size`"),
  bodyTooSlow: defineError("133", 408, () => ({
    message: "Request body was not received in time",
    closesConnection: true,
  })).when("the body stalls (`server-body-timeout`) or, without a file, is slow"),
  requestTimeout: defineError("134", 504, () => ({ message: "Request was not answered in time" }))
    .when("the response takes longer than `server-request-timeout`; nothing was changed"),
  tooManyRequests: defineError("135", 503, () => ({
    message: "Too many requests at the same time",
    headers: [["Retry-After", "1"]],
    shedReason: "requests",
  })).when("`server-max-requests` requests are in progress"),
  spoolFull: defineError("135", 503, () => ({
    message: "Too many requests at the same time",
    details: "The temporary files of long bodies have no room for this one",
    headers: [["Retry-After", "5"]],
    shedReason: "spool",
  })).when("the temporary files have no room for a long body"),
  rateLimited: defineError("136", 429, (
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
  })).when("a policy of `rate-limits` refuses the request"),
  queryTooExpensive: defineError("137", 413, (cost: number, allowed: number) => ({
    message: "The query is too expensive",
    details: `Estimated cost ${Math.ceil(cost)}, allowed ${allowed}`,
    hint: "Filter by an indexed column or set a limit",
  })).when("the planner's cost of the query exceeds `db-max-cost`"),
  unsupportedContentCoding: defineError(
    "138",
    415,
    (coding: string, offered: readonly string[]) => ({
      message: "Content-Encoding not supported",
      details: `${quotable(coding)} is not one of: ${offered.join(", ")}`,
      headers: [["Accept-Encoding", offered.join(", ")]],
    }),
  ).when("the service cannot decode the `Content-Encoding` of the body"),
  undecodableBody: defineError("139", 400, (coding: string) => ({
    message: "Request body cannot be decoded",
    details: `The body is not complete data of the coding ${coding}`,
  })).when("a compressed body is corrupt or truncated"),

  unknownOperation: defineError("190", 403, (advice: string, isShown: boolean) => ({
    message: "The request is not an operation of its role",
    details: isShown ? advice : null,
    advice,
    ...isShown ? {} : { isAdviceHidden: true },
  })).when("`operations` does not permit the request to the role"),
  foreignSite: defineError("191", 403, (header: "Host" | "Origin") =>
    header === "Host"
      ? {
        message: "The Host header names another server",
        hint: "Call http://127.0.0.1:3000, or set server-host",
      }
      : {
        message: "The request comes from another site",
        hint: "Set server-cors-allowed-origins to the origin of the site",
      }).when("in quick mode, the host is not this machine, or another site sends it"),
} as const;
