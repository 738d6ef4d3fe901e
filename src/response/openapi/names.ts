/**
 * Names of the database in the places of a document: paths, references and keys.
 *
 * @module
 */

/**
 * The last segment of a path. What a path cannot hold, or what means something in it or in its
 * template (RFC 3986 section 3.3), is percent-encoded; letters of any language stand as they are.
 */
export function pathSegment(name: string): string {
  return name.toWellFormed().replace(notInPath, encodeURIComponent);
}

const notInPath = /[^\x80-\u{10ffff}A-Za-z0-9\-_.~!$&'()*+,;=:@]/gu;

/** A reference to a member of this document: a JSON pointer (RFC 6901) as a URI fragment. */
export function reference(...path: readonly string[]): { readonly $ref: string } {
  return { $ref: `#/${path.map(pointerToken).join("/")}` };
}

function pointerToken(token: string): string {
  if (plain.test(token)) return token;
  return encodeURIComponent(token.toWellFormed().replaceAll("~", "~0").replaceAll("/", "~1"));
}

/** What most names are, which are many: nothing has to be escaped. */
const plain = /^[A-Za-z0-9_.-]*$/;
const plainKey = /^[A-Za-z0-9_-]*$/;

/** The key of a relation's filter by a column; different for different pairs of names. */
export function rowFilterKey(relation: string, column: string): string {
  if (plainKey.test(relation)) return `rowFilter.${relation}.${column}`;
  const first = relation.replaceAll("%", "%25").replaceAll(".", "%2E");
  return `rowFilter.${first}.${column}`;
}

/**
 * The key of a component, which may hold nothing but `[A-Za-z0-9._-]`: other characters are written
 * as `.<hexadecimal code point>.`, so that different names have different keys.
 */
export function componentKey(name: string): string {
  if (plainKey.test(name)) return name;
  return name.toWellFormed().replace(
    /[^A-Za-z0-9_-]/gu,
    (character) => `.${character.codePointAt(0)!.toString(16)}.`,
  );
}

/**
 * The name of a column, or of a function's parameter, as a name in the query string: in quotes where
 * its grammar would read a bare one as something else; null where the name is reserved.
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
