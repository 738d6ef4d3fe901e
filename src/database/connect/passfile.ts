/**
 * Passwords in a file of their own.
 *
 * Source: PostgreSQL documentation, "The Password File".
 *
 * @module
 */

/** What a connection needs a password for. */
export interface Login {
  readonly host: string;
  readonly port: number | string;
  readonly database: string;
  readonly user: string;
}

/** Returns the password of the first line that fits; undefined when none does. */
export function passwordIn(text: string, login: Login): string | undefined {
  const wanted = [login.host, String(login.port), login.database, login.user];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const fields = row.exec(line)?.slice(1);
    if (fields === undefined) continue;
    const fits = wanted.every((name, at) => fields[at] === "*" || plain(fields[at]!) === name);
    if (fits) return plain(fields[wanted.length]!);
  }
  return undefined;
}

/** `host:port:database:user:password`; a backslash goes before a colon or a backslash. */
const row = new RegExp(`^${String.raw`((?:[^\\:]|\\.)*):`.repeat(4)}(.*)$`);

function plain(field: string): string {
  return field.replace(/\\(.)/g, "$1");
}
