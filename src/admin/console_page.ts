/**
 * The documents of the console: the shell, which has no data, and frames.
 *
 * @module
 */

/** Content of the console's files by their names. */
export type ConsoleFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** Returns the document that loads the console's script and style sheet. */
export function shellHtml(files: ConsoleFiles, title: string): string {
  return documentHtml(files, { title, name: "main", style: "theme" });
}

/** Returns a document with one script and one style sheet, which `name` and `style` begin with. */
export function documentHtml(
  files: ConsoleFiles,
  { title, name, style }: {
    readonly title: string;
    readonly name: string;
    readonly style: string;
  },
): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="/console/${fileName(files, style, "css")}">
<script type="module" src="/console/${fileName(files, name, "js")}"></script>
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
