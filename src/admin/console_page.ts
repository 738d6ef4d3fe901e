/** The document of the console, which has no data, and its security headers. @module */

/** Content of the console's files by their names. */
export type ConsoleFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** Returns the document that loads the script and the style sheet. */
export function documentHtml(files: ConsoleFiles, title: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/console/${fileName(files, "css")}">
<script type="module" src="/console/${fileName(files, "js")}"></script>
</head>
<body>
<div id="app"><noscript>The console needs JavaScript.</noscript></div>
</body>
</html>
`;
}

/** A table with a highlighted row. */
const icon = "data:image/svg+xml," + encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">' +
    '<rect width="32" height="32" rx="7" fill="#0f766e"/>' +
    '<path d="M8 10h16M8 16h16M8 22h10" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>',
);

function fileName(files: ConsoleFiles, extension: string): string {
  const pattern = new RegExp(`^main-[0-9a-f]{12}\\.${extension}$`);
  const name = Array.from(files.keys()).find((each) => pattern.test(each));
  if (name === undefined) throw new Error(`the console lacks main.${extension}`);
  return name;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);
}

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
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Headers of each response but those of the API. An empty `Permissions-Policy` would allow all. */
export const consoleHeaders: Readonly<Record<string, string>> = {
  "Content-Security-Policy": consolePolicy,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
};
