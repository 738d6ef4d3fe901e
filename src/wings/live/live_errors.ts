/** Errors of live queries. @module */
import { defineError } from "../../base/errors/definition.ts";
import { quotable } from "../../base/errors/quoting.ts";

export const liveErrors = {
  invalidLiveQuery: defineError("180", 400, (details: string) => ({
    message: "Invalid live query",
    details: quotable(details),
    hint: "Use select and the filters of GET",
  })).when("a live query has a parameter or an offset that is wrong"),
  changesNotRecorded: defineError("181", 406, (table: string, statements: string) => ({
    message: `Changes of '${table}' are not recorded`,
    hint: statements,
  })).when("a table of a live query has no trigger; the hint has it"),
  liveResultTooLarge: defineError("182", 413, (allowed: number) => ({
    message: `The result has more than ${allowed} ${allowed === 1 ? "row" : "rows"}`,
    hint: "Add a filter, or a limit",
  })).when("the result of a live query exceeds `live-max-rows`, also later"),
  noLiveCapacity: defineError("183", 503, (limit: string, retryAfterSeconds: number) => ({
    message: "No live capacity",
    details: limit,
    headers: [["Retry-After", String(retryAfterSeconds)]],
  })).when("streams or memory are used up, or changes cannot be read"),
  tooManyStreams: defineError("184", 429, (allowed: number) => ({
    message: "Too many streams",
    details: `At most ${allowed} of one client`,
    headers: [["Retry-After", "5"]],
  })).when("a client has a tenth of `live-max-streams`"),
  liveUnavailable: defineError("185", 501, () => ({
    message: "Live queries are not available here",
  })).when("connections end with the request, as in edge functions"),
  unsupportedShape: defineError("186", 400, (part: string) => ({
    message: "The shape has no equivalent live query",
    details: `No support for ${quotable(part)}`,
    hint:
      "where may compare columns with values, by comparisons, IN, LIKE, BETWEEN, IS, AND, OR, NOT",
  })).when("a shape of Electric has a part that filters cannot express"),
} as const;
