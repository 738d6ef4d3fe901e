/**
 * Finds passwords in a password file.
 *
 * Source: PostgreSQL documentation, "The Password File".
 *
 * @module
 */

/** The login whose password is looked up. */
export interface Login {
  readonly host: string;
  readonly port: number | string;
  readonly database: string;
  readonly user: string;
}

/** Returns the password of the first matching line; undefined if no line matches. */
export function passwordIn(text: string, login: Login): string | undefined {
  const names = [login.host, String(login.port), login.database, login.user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const fields = row.exec(line)?.slice(1);
    if (fields === undefined) continue;
    const fits = names.every((name, at) => fields[at] === "*" || plain(fields[at]!) === name);
    if (fits) return plain(fields[names.length]!);
  }
  return undefined;
}

/** `host:port:database:user:password`; a backslash escapes a colon or a backslash. */
const row = new RegExp(`^${String.raw`((?:[^\\:]|\\.)*):`.repeat(4)}(.*)$`);

function plain(field: string): string {
  return field.replace(/\\(.)/g, "$1");
}
