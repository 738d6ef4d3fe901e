/** The last argument of a call: the path of a configuration file or a connection string. @module */

/** The configuration file or database that an argument names. */
export type CallTarget =
  | { readonly kind: "file"; readonly path: string }
  /** A URI, or keywords and values in libpq's form. */
  | { readonly kind: "database"; readonly connection: string }
  | { readonly kind: "problem"; readonly message: string };

/** Returns what an argument names. A URI with an unknown scheme is a problem. */
export function callTarget(argument: string): CallTarget {
  if (argument === "") {
    return { kind: "problem", message: "the path of the configuration file is empty" };
  }
  if (/^(?:postgres|postgresql|pglite):\/\//.test(argument) || isKeywords(argument)) {
    return { kind: "database", connection: argument };
  }
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(argument)?.[1];
  const lacksScheme = /^[\w.@-]+:\d+\//.test(argument);
  if (scheme === undefined && !lacksScheme) return { kind: "file", path: argument };
  return {
    kind: "problem",
    message: `cannot connect to a database of type ${JSON.stringify(scheme ?? "")}: expected ` +
      "postgres://user@host:5432/database or pglite://memory",
  };
}

/** Returns whether an argument has libpq's keywords and values: `host=localhost dbname=shop`. */
function isKeywords(argument: string): boolean {
  return /^\s*[a-z_]+\s*=/.test(argument) && /(?:^|\s)(?:host|dbname)\s*=/.test(argument);
}
