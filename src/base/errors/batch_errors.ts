/** Errors of batches, several operations in one request, of the endpoint of agents, and of live queries.
 * @module */
import { defineError } from "./definition.ts";
import { quotable } from "./quoting.ts";

const tooMuch = {
  operations: (allowed: number) => `More than ${allowed} operations`,
  document: (allowed: number) => `The document has more than ${allowed} bytes`,
  results: (allowed: number) => `The results have more than ${allowed} bytes`,
} as const;

export const batchErrors = {
  invalidBatch: defineError("140", 400, (pointer: string, expected: string) => ({
    message: "Invalid batch document",
    details: `${quotable(pointer)}: ${expected}`,
  })).when("the document of a batch is malformed"),
  batchTooLarge: defineError("141", 413, (part: keyof typeof tooMuch, allowed: number) => ({
    message: "Batch is too large",
    details: tooMuch[part](allowed),
    ...(part === "results" ? { hint: "Use Prefer: return=minimal, or limit the rows" } : {}),
  })).when("a batch exceeds `batch-max-operations` or `batch-max-bytes`"),
  invalidReference: defineError("142", 400, (target: string, reason: string) => ({
    message: `Invalid reference '${quotable(target)}'`,
    details: quotable(reason),
  })).when("a reference of a batch cannot be used"),
  referenceWithoutValue: defineError("143", 409, (source: string, rows: number) => ({
    message: `Reference '${quotable(source)}' finds no single value`,
    details: `The result has ${rows} rows`,
  })).when("a reference of a batch finds no single value"),
  batchTimeout: defineError("144", 504, (seconds: number) => ({
    message: `Batch took longer than ${seconds} s`,
  })).when("a batch takes longer than `batch-timeout`; nothing was changed"),
  foreignOrigin: defineError("192", 403, () => ({
    message: "Origin not allowed",
    hint: "mcp-allowed-origins lists the origins of pages that may use this endpoint",
  })).when("`mcp-allowed-origins` does not list the `Origin` of a request to `mcp-path`"),
  roleNotListed: defineError("193", 403, () => ({ message: "The role may not use this endpoint" }))
    .when("`mcp-roles` does not list the role of a request to `mcp-path`"),
} as const;

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
