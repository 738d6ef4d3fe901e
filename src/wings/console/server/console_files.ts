/** The files of the console, its document without data, and its security headers. The npm package
 * and the executable contain built files; otherwise they are bundled from the sources. @module */
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hexOf, sha256 } from "../../../base/lib/sha256.ts";

/** Content of the console's files by name. */
export type ConsoleFiles = ReadonlyMap<string, Uint8Array<ArrayBuffer>>;

/** The built files in the npm package, next to its bundle. */
const packaged = new URL("./console/", import.meta.url);

/** The built files in the executable. */
const embedded = new URL("../../../../dist/console/", import.meta.url);

/** Returns a function that reads or bundles the files at its first call. If that fails, the next call
 * tries again. */
export function consoleFilesReader(): () => Promise<ConsoleFiles> {
  let files: Promise<ConsoleFiles> | null = null;
  return async () => {
    try {
      return await (files ??= findFiles());
    } catch (error) {
      files = null;
      throw error;
    }
  };
}

async function findFiles(): Promise<ConsoleFiles> {
  if (packaged.protocol === "file:" && existsSync(packaged)) {
    return await readFolder(fileURLToPath(packaged));
  }
  if (Deno.build.standalone) return await readFolder(fileURLToPath(embedded));
  return await buildConsole();
}

async function readFolder(folder: string): Promise<ConsoleFiles> {
  const names = await readdir(folder);
  const files = await Promise.all(names.map(async (name) => {
    const bytes = new Uint8Array(await readFile(join(folder, name)));
    return [name, bytes] as const;
  }));
  return new Map(files);
}

const entry = new URL("../pages/main.ts", import.meta.url);

/** Bundles the pages. Returns the content of files by name. Each name contains a hash. */
export async function buildConsole(): Promise<ConsoleFiles> {
  const folder = await Deno.makeTempDir({ prefix: "svc_console_" });
  try {
    await bundle(folder);
    const files = Array.from(await readFolder(folder));
    const named = files.map(async ([name, bytes]) =>
      [await hashedName(name, bytes), bytes] as const
    );
    return new Map(await Promise.all(named));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function bundle(folder: string): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--platform=browser", "--minify", "--code-splitting"],
      `--config=${fileURLToPath(new URL("deno.json", entry))}`,
      `--outdir=${folder}`,
      entry.href,
    ],
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
}

/** Returns `main-1f3a….js` for the files of an entry point. The bundler names the other files in this form. */
async function hashedName(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const [, stem = "", extension = ""] = /^([a-z]+)\.([a-z]+)$/.exec(name) ?? [];
  if (stem === "") return name;
  const hash = hexOf((await sha256(bytes)).subarray(0, 6));
  return `${stem}-${hash}.${extension}`;
}

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

/** Icon: a table with a highlighted row. */
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
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Allows only the console's files. As there is no Trusted Types policy, no text can become HTML or a script. */
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

/** Headers of responses other than the API's. An empty `Permissions-Policy` would allow everything. */
export const consoleHeaders: Readonly<Record<string, string>> = {
  "Content-Security-Policy": consolePolicy,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
};
