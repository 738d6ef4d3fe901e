/** The error for an unusable authentication option. The message is for the operator and contains no
 * part of a secret. @module */

/** An authentication option has an unusable value. */
export class AuthSettingError extends Error {
  /** The option at fault. */
  readonly key: "jwt-secret" | "jwt-role-claim-key" | "jwt-issuer" | "jwt-issuers";

  constructor(message: string, key: AuthSettingError["key"] = "jwt-secret") {
    super(message);
    this.name = "AuthSettingError";
    this.key = key;
  }
}
