/** Checks whether options exclude each other. @module */
import { isEmbedded } from "../../database/open.ts";
import { quote } from "./codecs.ts";
import { type OptionRows, options } from "./options.ts";

type OptionConflict = readonly [key: string, problem: string];

/**
 * Lists the problems of options that exclude each other, each with the key of the option to change.
 */
export function conflictsIn(
  rows: OptionRows,
  valueOf: (key: string) => unknown,
): readonly OptionConflict[] {
  const conflicts: OptionConflict[] = [];
  const adminPort = valueOf("admin-server-port");
  // Two ports may be 0, because each 0 selects a free port.
  if (adminPort && adminPort === valueOf("server-port")) {
    const problem = "admin-server-port cannot be the same as server-port " +
      `(expected another port than ${adminPort})`;
    conflicts.push(["admin-server-port", problem]);
  }
  conflicts.push(...samePaths(rows, valueOf));
  const uri = valueOf("db-uri");
  if (typeof valueOf("db-replica-uri") === "string" && typeof uri === "string" && isEmbedded(uri)) {
    const problem = "an embedded database has no standbys (expected no db-replica-uri)";
    conflicts.push(["db-replica-uri", problem]);
  }
  return conflicts;
}

/** Compares the paths of endpoints. In a conflict, the problem names the endpoint of a wing before one
 * of the core, and a prefix of paths before a single path. */
function samePaths(rows: OptionRows, valueOf: (key: string) => unknown): readonly OptionConflict[] {
  const rank = ([key, { endpoint }]: OptionRows[number]) =>
    Object.hasOwn(options, key) ? 0 : endpoint?.paths === "one" ? 1 : 2;
  const endpoints = rows.filter(([key, { endpoint }]) =>
    endpoint && typeof valueOf(key) === "string"
  )
    .toSorted((one, other) => rank(one) - rank(other));
  return endpoints.flatMap(([key, { endpoint }], index) =>
    endpoints.slice(0, index).flatMap(([other]): OptionConflict[] => {
      const [value, path] = [String(valueOf(key)), String(valueOf(other))];
      const isBelow = endpoint?.paths === "below" && path.startsWith(`${value}/`);
      if (value !== path && !isBelow) return [];
      const problem = `${key} cannot be ${isBelow ? "above" : "the same as"} ${other} ` +
        `(expected another path than ${quote(value)})`;
      return [[key, problem]];
    })
  );
}
