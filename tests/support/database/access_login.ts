/** The login role of the fixture `access`. @module */

/** Returns the connection string of a database with the role that has the roles of the fixture alone. */
export function accessLogin(uri: string): string {
  return uri.replace("authenticator:authenticator@", "access_login:access_login@");
}
