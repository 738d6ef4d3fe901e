/**
 * The documents of the console: the shell, which has no data, and the frame of plans.
 *
 * @module
 */

/** Content of the console's files by their names. */
export type ConsoleFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** An entry of the console with the title of its document. */
export interface ConsoleDocument {
  readonly entry: "main" | "plan";
  readonly title: string;
}

/** Returns a document that loads the script and the style sheet of an entry. */
export function documentHtml(files: ConsoleFiles, { entry, title }: ConsoleDocument): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/console/${fileName(files, entry, "css")}">
<script type="module" src="/console/${fileName(files, entry, "js")}"></script>
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

function fileName(files: ConsoleFiles, stem: string, extension: string): string {
  const pattern = new RegExp(`^${stem}-[0-9a-f]{12}\\.${extension}$`);
  const name = Array.from(files.keys()).find((each) => pattern.test(each));
  if (name === undefined) throw new Error(`the console lacks ${stem}.${extension}`);
  return name;
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (found) => `&#${found.charCodeAt(0)};`);
}
