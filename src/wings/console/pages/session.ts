/// <reference lib="dom" />
/** The reader's identity: the tokens for the API and the admin server. @module */
import { computed, signal } from "@preact/signals";

const tokenKey = "svc-token";
const adminTokenKey = "svc-admin-token";

/** Token for the API; null for anonymous requests. */
export const token = signal<string | null>(sessionStorage.getItem(tokenKey));

/** Value of `admin-token`; null if it was not entered. */
export const adminToken = signal<string | null>(sessionStorage.getItem(adminTokenKey));

/** Uses a token; the empty text means anonymous requests. `keeps` stores it until the tab is closed. */
export function signIn(text: string, { keeps }: { readonly keeps: boolean }): void {
  const bare = text.trim().replace(/^Bearer\s+/i, "");
  token.value = bare === "" ? null : bare;
  sessionStorage.removeItem(tokenKey);
  if (keeps && bare !== "") sessionStorage.setItem(tokenKey, bare);
}

/** Deletes the tokens for the API and the admin server. */
export function signOut(): void {
  signIn("", { keeps: false });
  adminToken.value = null;
  sessionStorage.removeItem(adminTokenKey);
}

/** Uses an admin token until the tab is closed. */
export function setAdminToken(text: string): void {
  adminToken.value = text;
  sessionStorage.setItem(adminTokenKey, text);
}

/** Claims that the page reads from the token. Only the API verifies them. */
export interface ShownClaims {
  readonly role: string | null;
  /** Epoch seconds; null if the token does not end. */
  readonly expires: number | null;
}

/** Claims of the current token; null without a token, and for a token that is not a JWT. */
export const claims = computed<ShownClaims | null>(() => {
  const part = token.value?.split(".")[1];
  if (part === undefined) return null;
  try {
    const bytes = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
    const { role, exp } = JSON.parse(new TextDecoder().decode(
      Uint8Array.from(bytes, (character) => character.charCodeAt(0)),
    ));
    return {
      role: typeof role === "string" ? role : null,
      expires: typeof exp === "number" ? exp : null,
    };
  } catch {
    return null;
  }
});
