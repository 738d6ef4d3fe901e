/**
 * Options of writes.
 *
 * @module
 */
import { list, oneOf, tableName } from "../codecs.ts";
import { size, time } from "../units.ts";
import { option } from "./option.ts";

export const writeOptions = {
  "etag-mode": option({
    codec: oneOf(["off", "on", "required"], "Invalid etag-mode. Check your configuration."),
    default: "off",
    reloadable: true,
    inDatabase: true,
    doc:
      "Whether responses have an `ETag` and preconditions count; with `required`, PATCH, PUT and " +
      "DELETE without a precondition fail with SVC152.",
    example: '"on"',
    extension: true,
  }),
  "etag-version-columns": option({
    codec: list({ expected: "names of columns in quotes, separated by commas", empty: "value" }),
    default: [],
    reloadable: true,
    inDatabase: true,
    doc:
      "Columns that change with every update; the first that a relation has is the version of its " +
      "rows.",
    example: '"version,updated_at"',
    extension: true,
  }),
  "idempotency-max-bytes": option({
    codec: size(),
    default: 1024 * 1024,
    reloadable: true,
    inDatabase: true,
    doc:
      "Largest response body that is kept for an `Idempotency-Key`, in bytes; a write with a larger " +
      "one is rolled back and fails with SVC156.",
    example: '"64k"',
    extension: true,
  }),
  "idempotency-table": option({
    codec: tableName,
    default: null,
    reloadable: true,
    inDatabase: true,
    doc:
      "Table that keeps the responses to writes with an `Idempotency-Key`; if it is not set, the " +
      "header is ignored.",
    example: '"svc.idempotency_keys"',
    extension: true,
  }),
  "idempotency-ttl": option({
    codec: time({ min: 1 }),
    default: 86_400,
    reloadable: true,
    inDatabase: true,
    doc: "Age at which an `Idempotency-Key` is forgotten: a request with it is executed again.",
    example: '"24h"',
    extension: true,
  }),
} as const;
