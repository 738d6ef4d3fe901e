/** The errors of the API, one row each: code, status and wording. Codes have no dialect prefix. A wing has its
 * errors in its folder. @module */
import { batchErrors } from "./batch_errors.ts";
import { connectionErrors } from "./connection_errors.ts";
import { guardErrors } from "./guard_errors.ts";
import { queryErrors } from "./query_errors.ts";
import { requestErrors } from "./request_errors.ts";
import { schemaCacheErrors } from "./schema_cache_errors.ts";
import { tokenErrors } from "./token_errors.ts";
import { writeErrors } from "./write_errors.ts";

export const errors = {
  ...connectionErrors,
  ...requestErrors,
  ...guardErrors,
  ...batchErrors,
  ...writeErrors,
  ...queryErrors,
  ...schemaCacheErrors,
  ...tokenErrors,
} as const;
