/** Errors of batches: several operations in one request. @module */
import { defineError } from "./definition.ts";
import { quotable } from "./quoting.ts";

export const batchErrors = {
  invalidBatch: defineError(
    "140",
    400,
    "the document of a batch is malformed",
    (pointer: string, expected: string) => ({
      message: "Invalid batch document",
      details: `${quotable(pointer)}: ${expected}`,
    }),
  ),
  batchTooLarge: defineError(
    "141",
    413,
    "a batch exceeds `batch-max-operations` or `batch-max-bytes`",
    (part: "operations" | "document" | "results", allowed: number) => {
      const message = "Batch is too large";
      if (part === "operations") {
        return { message, details: `More than ${allowed} operations` };
      }
      return part === "document"
        ? { message, details: `The document has more than ${allowed} bytes` }
        : {
          message,
          details: `The results have more than ${allowed} bytes`,
          hint: "Use Prefer: return=minimal, or limit the rows",
        };
    },
  ),
  invalidReference: defineError(
    "142",
    400,
    "a reference of a batch cannot be used",
    (target: string, reason: string) => ({
      message: `Invalid reference '${quotable(target)}'`,
      details: quotable(reason),
    }),
  ),
  referenceWithoutValue: defineError(
    "143",
    409,
    "a reference of a batch finds no single value",
    (source: string, rows: number) => ({
      message: `Reference '${quotable(source)}' finds no single value`,
      details: `The result has ${rows} rows`,
    }),
  ),
  batchTimeout: defineError(
    "144",
    504,
    "a batch takes longer than `batch-timeout`; nothing was changed",
    (seconds: number) => ({ message: `Batch took longer than ${seconds} s` }),
  ),
} as const;

export const mcpErrors = {
  foreignOrigin: defineError(
    "192",
    403,
    "`mcp-allowed-origins` does not list the `Origin` of a request to `mcp-path`",
    () => ({
      message: "Origin not allowed",
      hint: "mcp-allowed-origins lists the origins of pages that may use this endpoint",
    }),
  ),
  roleNotListed: defineError(
    "193",
    403,
    "`mcp-roles` does not list the role of a request to `mcp-path`",
    () => ({ message: "The role may not use this endpoint" }),
  ),
} as const;
