/** The schema that a request addresses. @module */
import { errors } from "../../base/errors/catalogue.ts";

export interface ProfileConfig {
  /** Exposed schemas; the first is the default. */
  readonly dbSchemas: readonly string[];
}

/** A schema, and whether it was negotiated. */
export interface Profile {
  readonly schema: string;
  readonly schemaNegotiated: boolean;
}

const writing: ReadonlySet<string> = new Set(["POST", "PATCH", "PUT", "DELETE"]);

/** Returns the schema in `Content-Profile` for writes, in `Accept-Profile` for reads, or the
 * default. Throws `106` if it is not exposed. */
export function chooseSchema(
  { method, headers }: {
    readonly method: string;
    /** Headers by lower-case name. */
    readonly headers: Readonly<Record<string, string>>;
  },
  { dbSchemas }: ProfileConfig,
): Profile {
  const named = headers[writing.has(method) ? "content-profile" : "accept-profile"];
  if (named === undefined) {
    return { schema: dbSchemas[0] ?? "", schemaNegotiated: dbSchemas.length > 1 };
  }
  if (!dbSchemas.includes(named)) throw errors.unacceptableSchema(named, dbSchemas);
  return { schema: named, schemaNegotiated: true };
}
