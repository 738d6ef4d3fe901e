/**
 * Security headers of the console.
 *
 * @module
 */

/**
 * Allows the console's own files and nothing else. Trusted Types with no policy forbid HTML from text
 * and scripts from text in the whole page.
 */
export const consolePolicy: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/**
 * Policy of the frame that shows plans. Its package writes HTML from text, so that Trusted Types are off.
 * The frame cannot send anything.
 */
export const planPolicy: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
].join("; ");

/** Headers of each response of the console but those of the API. */
export function consoleHeaders(policy: string): Readonly<Record<string, string>> {
  return {
    "Content-Security-Policy": policy,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": permissions,
  };
}

/** Features that the page does not use. An empty header would leave them allowed. */
const permissions = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
