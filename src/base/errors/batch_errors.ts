/** Errors of batches, several operations in one request. @module */
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
} as const;
