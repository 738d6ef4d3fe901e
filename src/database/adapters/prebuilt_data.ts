/** Data directories from which new embedded databases start, in place of `initdb`. `initdb` takes
 * four times the processor time of a start. @module */
import type { Files } from "./files.ts";

interface PrebuiltData {
  /** Reads a tar archive; null before the first write, and if the file is damaged. */
  read(): Blob | null;
  /** Stores a tar archive, compressed by gzip. It must contain only the files of `initdb`. */
  write(dump: Blob): Promise<void>;
  /** Deletes a data directory that cannot be loaded. */
  discard(): void;
}

/** Returns the prebuilt data directory for the installed PGlite; null without a cache folder. */
export function prebuiltData(
  files: Files,
  version: string | null = pgliteVersion(files),
): PrebuiltData | null {
  const file = version === null ? null : cachePath(files, version);
  if (file === null) return null;
  return {
    read: () => isPrivate(files, file) ? readArchive(files, file) : null,
    write: (dump) => writeArchive(files, file, dump),
    discard: () => files.fs.rmSync(file, { force: true }),
  };
}

/** Reads the manifest of the package; null if it cannot be found. */
function pgliteVersion({ fs, path }: Files): string | null {
  try {
    const { pathname, protocol } = new URL(import.meta.resolve("@electric-sql/pglite"));
    if (protocol !== "file:") return null;
    const manifest = path.join(path.dirname(decodeURIComponent(pathname)), "../package.json");
    return JSON.parse(fs.readFileSync(manifest, "utf8")).version;
  } catch {
    return null;
  }
}

/** Returns the path of the cached archive: `$XDG_CACHE_HOME/svc/pglite-<version>.tar.gz`. */
function cachePath({ path, environment }: Files, version: string): string | null {
  const { XDG_CACHE_HOME: cache, HOME: home } = environment;
  const folder = cache || (home && path.join(home, ".cache"));
  if (!folder || !path.isAbsolute(folder)) return null;
  return path.join(folder, "svc", `pglite-${version}.tar.gz`);
}

/** Returns whether only this user can write a file. A data directory of another user could run code
 * in each database that is made from it. */
function isPrivate({ fs, path, uid }: Files, file: string): boolean {
  if (uid === null) return true;
  return [file, path.dirname(file)].every((each) => {
    const status = fs.lstatSync(each, { throwIfNoEntry: false });
    return status !== undefined && !status.isSymbolicLink() && status.uid === uid &&
      (status.mode & 0o022) === 0;
  });
}

/** Returns the decompressed archive; null for a damaged one. PGlite would decompress it in the
 * background, and end the process if that fails. */
function readArchive({ fs, zlib }: Files, file: string): Blob | null {
  try {
    return new Blob([new Uint8Array(zlib.gunzipSync(fs.readFileSync(file)))]);
  } catch {
    return null;
  }
}

/** Writes the archive under another name, and then renames the file. So no process reads half of it. */
async function writeArchive({ fs, path }: Files, file: string, dump: Blob): Promise<void> {
  const written = `${file}.${crypto.randomUUID()}`;
  const bytes = new Uint8Array(await dump.arrayBuffer());
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  try {
    fs.writeFileSync(written, bytes, { mode: 0o600, flag: "wx" });
    fs.renameSync(written, file);
  } catch {
    fs.rmSync(written, { force: true });
  }
}
