/** Paths as the project's rules speak of them. @module */

const root = new URL("../../", import.meta.url).pathname;

/** Gives a file's path from the project's root: `src/api/query/read.ts`. Other files keep theirs. */
export function projectPath(filename: string): string {
  return filename.startsWith(root) ? filename.slice(root.length) : filename;
}

/** Gives the path that a relative import names, or `null` for a package. */
export function importedPath(from: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) return null;
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
