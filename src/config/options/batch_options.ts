/**
 * Options of batches: several operations in one request.
 *
 * @module
 */
import { integer, oneOf } from "../codecs.ts";
import { size, time } from "../units.ts";
import { option } from "./option.ts";

export const batchOptions = {
  "batch-max-bytes": option({
    codec: size(),
    default: 10 * 1024 * 1024,
    reloadable: true,
    inDatabase: true,
    doc:
      "Most bytes that the document of a batch may have, and all its results together; a larger " +
      "one fails with SVC141.",
    example: '"1m"',
    extension: true,
  }),
  "batch-max-operations": option({
    codec: integer({ min: 0 }),
    default: 0,
    reloadable: true,
    inDatabase: true,
    doc: "Most operations that one batch (`POST /`) may have. 0 switches batches off.",
    example: "100",
    extension: true,
  }),
  "batch-pre-request": option({
    codec: oneOf(
      ["each", "once"],
      "Invalid batch-pre-request. Check your configuration.",
    ),
    default: "each",
    reloadable: true,
    inDatabase: true,
    doc:
      "Whether `db-pre-request` runs for a batch and before `each` of its operations, or `once` " +
      "for the batch.",
    example: '"once"',
    extension: true,
  }),
  "batch-timeout": option({
    codec: time(),
    default: 10,
    reloadable: true,
    inDatabase: true,
    doc: "Time from the begin of a batch's transaction to its last result; then its statement is " +
      "canceled, and it fails with SVC144. 0 sets no limit.",
    example: '"30s"',
    extension: true,
  }),
} as const;
