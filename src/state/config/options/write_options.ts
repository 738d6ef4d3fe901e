/** Options of writes and of batches. @module */
import { integer, list, oneOf, tableName } from "../codecs.ts";
import { size, time } from "../units.ts";
import { option } from "./option.ts";

export const writeOptions = {
  "etag-mode": option({
    codec: oneOf(["off", "on", "required"], "etag-mode"),
    default: "off",
    doc: "Whether responses have an `ETag` and preconditions count; with `required`, PATCH, PUT " +
      "and DELETE without a precondition fail with SVC152.",
    example: '"on"',
  }),
  "etag-version-columns": option({
    codec: list({ expected: "names of columns in quotes, separated by commas", empty: "value" }),
    default: [],
    doc: "Columns that change with every update; the first that a relation has is the version of " +
      "its rows.",
    example: '"version,updated_at"',
  }),
  "idempotency-table": option({
    codec: tableName,
    default: null,
    doc: "Table that keeps the responses to writes with an `Idempotency-Key`; if it is not set, " +
      "the header is ignored.",
    example: '"svc.idempotency_keys"',
  }),
  "idempotency-ttl": option({
    codec: time({ min: 1 }),
    default: 86_400,
    doc: "Age at which an `Idempotency-Key` is forgotten: a request with it is executed again.",
    example: '"24h"',
  }),
} as const;

export const batchOptions = {
  "batch-max-bytes": option({
    codec: size(),
    default: 10 * 1024 * 1024,
    doc: "Most bytes that the document of a batch may have, and all its results together; a " +
      "larger one fails with SVC141.",
    example: '"1m"',
  }),
  "batch-max-operations": option({
    codec: integer({ min: 0 }),
    default: 0,
    doc: "Most operations that one batch (`POST /`) may have. 0 switches batches off.",
    example: "100",
  }),
  "batch-timeout": option({
    codec: time(),
    default: 10,
    doc: "Time from the begin of a batch's transaction to its last result; then its statement is " +
      "canceled, and it fails with SVC144. 0 sets no limit.",
    example: '"30s"',
  }),
} as const;
