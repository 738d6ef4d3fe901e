/** Options that earlier versions had. @module */

/** The advice of the error for each key. */
export const removedOptions: ReadonlyMap<string, string> = new Map([
  ["tenant-db-pool", "each tenant has an equal share of tenants-db-pool"],
  ["batch-pre-request", "remove it: each operation of a batch runs db-pre-request"],
]);
