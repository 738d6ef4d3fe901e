/** The levels of the log. @module */

/** Log levels, from the one that logs least to the one that logs most. */
export const logLevels = ["crit", "error", "warn", "info", "debug"] as const;

export type LogLevel = typeof logLevels[number];
