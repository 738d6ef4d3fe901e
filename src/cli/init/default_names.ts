/** The names that `svc init` chooses unless flags or answers do. @module */

/** Default names. */
export const defaultNames = {
  loginRole: "authenticator",
  anonRole: "web_anon",
  userRole: "web_user",
  /** Schema of a database without relations. */
  schema: "api",
} as const;

/** PostgreSQL cuts longer names, in bytes. */
export const maxNameBytes = 63;

/**
 * Returns the name of the login role. Roles belong to all databases of a server: if the usual role
 * exists and its password is unknown, the database gets a role of its own, such as
 * `authenticator_shop`.
 */
export function freeLoginRole(
  database: string,
  { existing, known }: {
    readonly existing: readonly string[];
    /** Users whose passwords are known. */
    readonly known: readonly string[];
  },
): string {
  const isUsable = (name: string) => known.includes(name) || !existing.includes(name);
  const { loginRole } = defaultNames;
  if (isUsable(loginRole)) return loginRole;
  for (let number = 1;; number++) {
    const end = number === 1 ? "" : `_${number}`;
    const name = cut(`${loginRole}_${database}`, maxNameBytes - end.length) + end;
    if (isUsable(name)) return name;
  }
}

/** Cuts a text to a number of bytes, and removes the part of a character at its end. */
function cut(text: string, bytes: number): string {
  const head = new TextEncoder().encode(text).subarray(0, bytes);
  return new TextDecoder().decode(head, { stream: true });
}
