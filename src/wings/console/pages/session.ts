/// <reference lib="dom" />
/** The identity of the reader: the tokens of the API and of the admin server. @module */
import { computed, signal } from "@preact/signals";

const tokenKey = "svc-token";
const adminTokenKey = "svc-admin-token";

/** Token of the API; null for anonymous requests. */
export const token = signal<string | null>(sessionStorage.getItem(tokenKey));

/** Value of `admin-token`; null if it was not entered. */
export const adminToken = signal<string | null>(sessionStorage.getItem(adminTokenKey));

/** Uses a token; none for the empty text. `keeps` stores it for the life of the tab. */
export function signIn(text: string, { keeps }: { readonly keeps: boolean }): void {
  const bare = text.trim().replace(/^Bearer\s+/i, "");
  token.value = bare === "" ? null : bare;
  sessionStorage.removeItem(tokenKey);
  if (keeps && bare !== "") sessionStorage.setItem(tokenKey, bare);
}

/** Forgets the tokens of the API and of the admin server. */
export function signOut(): void {
  signIn("", { keeps: false });
  adminToken.value = null;
  sessionStorage.removeItem(adminTokenKey);
}

/** Uses an admin token for the life of the tab. */
export function setAdminToken(text: string): void {
  adminToken.value = text;
  sessionStorage.setItem(adminTokenKey, text);
}

/** Claims that the page reads from the token. The API alone decides whether they hold. */
export interface ShownClaims {
  readonly role: string | null;
  /** Epoch seconds; null if the token does not end. */
  readonly expires: number | null;
}

/** Claims of the current token; null without a token or for one that is not a JWT. */
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
