/**
 * Options of writes.
 *
 * @module
 */
import { tableName } from "../codecs.ts";
import { size, time } from "../units.ts";
import { option } from "./option.ts";

export const writeOptions = {
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
