/** Data directories from which a new embedded database starts. They save the run of `initdb`, which
 * takes four times the processor time of a start. @module */
import type { Files } from "./files.ts";

interface PrebuiltData {
  /** A tar archive; null before the first write, and if the file is damaged. */
  read(): Blob | null;
  /** Keeps a tar archive, compressed by gzip. It must hold nothing but the files of `initdb`. */
  write(dump: Blob): Promise<void>;
  /** Forgets a data directory that cannot be loaded. */
  discard(): void;
}

/**
 * Finds the prebuilt data directory of the installed PGlite: that of the package
 * `@electric-sql/pglite-prepopulatedfs` if it was made by the same version, else a file of the cache
 * folder. Returns null if the version of PGlite cannot be found.
 */
export function prebuiltData(
  files: Files,
  engine: Pick<InstalledPackage, "version"> | null = packageOf(files, "@electric-sql/pglite"),
): PrebuiltData | null {
  if (engine === null) return null;
  const packaged = packagedArchive(files, engine.version);
  const cached = cachePath(files, engine.version);
  let isDiscarded = false;
  return {
    read() {
      if (packaged !== null && !isDiscarded) return readArchive(files, packaged);
      return cached !== null && isPrivate(files, cached) ? readArchive(files, cached) : null;
    },
    write: (dump) => cached === null ? Promise.resolve() : writeArchive(files, cached, dump),
    discard() {
      isDiscarded = true;
      if (cached !== null) files.fs.rmSync(cached, { force: true });
    },
  };
}

interface InstalledPackage {
  readonly version: string;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  /** Folder of its main module. */
  readonly folder: string;
}

/** Reads the manifest of a package; null if the package or the manifest cannot be found. */
function packageOf({ fs, path }: Files, name: string): InstalledPackage | null {
  try {
    const { pathname, protocol } = new URL(import.meta.resolve(name));
    if (protocol !== "file:") return null;
    const folder = path.dirname(decodeURIComponent(pathname));
    const manifest = JSON.parse(fs.readFileSync(path.join(folder, "../package.json"), "utf8"));
    return { ...manifest, folder };
  } catch {
    return null;
  }
}

function packagedArchive(files: Files, version: string): string | null {
  const found = packageOf(files, "@electric-sql/pglite-prepopulatedfs");
  if (found?.peerDependencies?.["@electric-sql/pglite"] !== version) return null;
  return files.path.join(found.folder, "prepopulatedfs.tgz");
}

/** Returns the path of the cached archive: `$XDG_CACHE_HOME/svc/pglite-<version>.tar.gz`. */
function cachePath({ path, environment }: Files, version: string): string | null {
  const { XDG_CACHE_HOME: cache, HOME: home } = environment;
  const folder = cache || (home && path.join(home, ".cache"));
  if (!folder || !path.isAbsolute(folder)) return null;
  return path.join(folder, "svc", `pglite-${version}.tar.gz`);
}

/** Another user's data directory could run code in each database that is made from it. */
function isPrivate({ fs, path, uid }: Files, file: string): boolean {
  if (uid === null) return true;
  return [file, path.dirname(file)].every((each) => {
    const status = fs.lstatSync(each, { throwIfNoEntry: false });
    return status !== undefined && !status.isSymbolicLink() && status.uid === uid &&
      (status.mode & 0o022) === 0;
  });
}

/** PGlite would end the process at a damaged archive: its decompression fails in the background. */
function readArchive({ fs, zlib }: Files, file: string): Blob | null {
  try {
    return new Blob([new Uint8Array(zlib.gunzipSync(fs.readFileSync(file)))]);
  } catch {
    return null;
  }
}

/** Writes the archive under another name and renames it, so that no process reads half of it. */
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
