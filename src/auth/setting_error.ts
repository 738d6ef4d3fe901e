/**
 * Raised when a setting of authentication cannot be used. The message is for the operator and tells
 * nothing of a secret's content.
 *
 * @module
 */

/** A setting that cannot be used. */
export class AuthSettingError extends Error {
  /** The option at fault. */
  readonly key: "jwt-secret" | "jwt-role-claim-key";

  constructor(message: string, key: AuthSettingError["key"] = "jwt-secret") {
    super(message);
    this.name = "AuthSettingError";
    this.key = key;
  }
}
