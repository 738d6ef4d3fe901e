/** All errors of the service, one row each: code, status and wording. Codes have no dialect prefix.
 * @module */
import { batchErrors } from "./batch_errors.ts";
import { connectionErrors } from "./connection_errors.ts";
import { cursorErrors } from "./query_errors.ts";
import { guardErrors } from "./guard_errors.ts";
import { internalErrors } from "./connection_errors.ts";
import { mcpErrors } from "./batch_errors.ts";
import { queryErrors } from "./query_errors.ts";
import { replicaErrors } from "./connection_errors.ts";
import { requestErrors } from "./request_errors.ts";
import { schemaCacheErrors } from "./schema_cache_errors.ts";
import { tenantErrors } from "./connection_errors.ts";
import { tokenErrors } from "./token_errors.ts";
import { writeErrors } from "./write_errors.ts";

/** The catalogue. Each row creates a `ServiceError`. */
export const errors = {
  // Group 0
  ...connectionErrors,
  ...replicaErrors,
  // Group 1
  ...requestErrors,
  ...guardErrors,
  ...batchErrors,
  ...mcpErrors,
  ...writeErrors,
  ...queryErrors,
  ...cursorErrors,
  // Group 2
  ...schemaCacheErrors,
  // Group 3
  ...tokenErrors,
  ...tenantErrors,
  // Group X
  ...internalErrors,
} as const;
