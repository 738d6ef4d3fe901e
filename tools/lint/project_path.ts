/** Paths of the project, in the form that the lint rules use. @module */

const root = new URL("../../", import.meta.url).pathname;

/** Returns a file's path from the project's root: `src/api/query/read.ts`. Returns other paths unchanged. */
export function projectPath(filename: string): string {
  return filename.startsWith(root) ? filename.slice(root.length) : filename;
}

/** Returns the path of a relative import, or `null` for a package. */
export function importedPath(from: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) return null;
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
