/** Encodes names of the database for a document: in paths, references and keys. @module */

/**
 * Returns the last segment of a path. Percent-encodes characters that a path cannot contain, or that
 * delimit it or its template (RFC 3986 section 3.3). Keeps letters of any language.
 */
export function pathSegment(name: string): string {
  return name.toWellFormed().replace(notInPath, encodeURIComponent);
}

const notInPath = /[^\x80-\u{10ffff}A-Za-z0-9\-_.~!$&'()*+,;=:@]/gu;

/** Returns a reference within the document: a JSON pointer (RFC 6901) as a URI fragment. */
export function reference(...path: readonly string[]): { readonly $ref: string } {
  return { $ref: `#/${path.map(pointerToken).join("/")}` };
}

function pointerToken(token: string): string {
  if (plain.test(token)) return token;
  return encodeURIComponent(token.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1"));
}

/** Names without characters to escape: the fast path for most of them. */
const plain = /^[A-Za-z0-9_.-]*$/;
const plainKey = /^[A-Za-z0-9_-]*$/;

/** Returns the key of a relation's filter by a column. Different pairs of names have different keys. */
export function rowFilterKey(relation: string, column: string): string {
  if (plainKey.test(relation)) return `rowFilter.${relation}.${column}`;
  const first = relation.replaceAll("%", "%25").replaceAll(".", "%2E");
  return `rowFilter.${first}.${column}`;
}

/**
 * Returns the key of a component, which may contain only `[A-Za-z0-9._-]`. Other characters become
 * `.<hexadecimal code point>.`, so that different names have different keys.
 */
export function componentKey(name: string): string {
  if (plainKey.test(name)) return name;
  return name.toWellFormed().replace(
    /[^A-Za-z0-9_-]/gu,
    (character) => `.${character.codePointAt(0)!.toString(16)}.`,
  );
}

/**
 * Returns the name of a column, or of a function's parameter, for the query string. Adds quotes if the
 * query grammar requires them. Returns null for a reserved name.
 */
export function queryName(column: string): string | null {
  if (wholeNames.has(column)) return null;
  const reserved = lastSegments.has(column.slice(column.lastIndexOf(".") + 1));
  if (reserved) return null;
  return bareName.test(column) ? column : `"${column.replaceAll(/["\\]/g, "\\$&")}"`;
}

const wholeNames: ReadonlySet<string> = new Set(["select", "columns", "on_conflict"]);
const lastSegments: ReadonlySet<string> = new Set(["order", "and", "or", "limit", "offset"]);
const word = "[\\p{L}0-9_$]+";
const words = `${word}(?: +${word})*`;
const bareName = new RegExp(`^${words}(?:-${words})*$`, "u");
