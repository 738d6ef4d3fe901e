/**
 * Reads the configuration: its file, the environment, and the files that they name.
 *
 * @module
 */
import { dirname, isAbsolute, resolve } from "node:path";
import type { Config } from "../config/options.ts";
import { type ConfigFlags, noValues } from "../config/load.ts";
import { type ConfigSource, configSource } from "../config/source.ts";
import type { Database } from "../database/database.ts";
import { isEmbedded, openDatabase } from "../database/open.ts";
import type { ConfigArguments } from "./command.ts";

/** Reads the configuration of one process. */
export interface ConfigReader {
  /** Path of the configuration file; null if the arguments name none. */
  readonly file: string | null;
  /** Configuration at the start. */
  readonly config: Config;
  /** Sources of {@linkcode config}. */
  readonly initialSource: ConfigSource;
  /** Reads the sources again. Throws an `Error` if one cannot be read. */
  readonly read: () => ConfigSource;
}

/**
 * Reads file, environment and flags. Throws an `Error` of one line if the configuration is invalid.
 */
export function configReader({ file, flags }: ConfigArguments): ConfigReader {
  const readFile = fileReader();
  const pathFlags = withResolvedPaths(flags);
  const read = (started: Config | null) => sourceOf(file, { readFile, started, flags: pathFlags });
  const initialSource = read(null);
  const config = initialSource.configure(noValues);
  return { file, config, initialSource, read: () => read(config) };
}

type ReadBytes = (path: string) => Uint8Array<ArrayBuffer>;

/**
 * Makes a reader of files. It reads a file that is not regular, such as a pipe, only once and keeps
 * the content. A second read would return nothing, or wait for another writer.
 */
function fileReader(): ReadBytes {
  const streams = new Map<string, Uint8Array<ArrayBuffer>>();
  return (path) => {
    const kept = streams.get(path);
    if (kept !== undefined) return kept;
    const { isFile } = Deno.statSync(path);
    const content = Deno.readFileSync(path);
    if (!isFile) streams.set(path, content);
    return content;
  };
}

/** Makes the paths in flags absolute, since those in the file are relative to the file's folder. */
function withResolvedPaths(flags: ConfigFlags): ConfigFlags {
  const absolute = Array.from(flags, ([key, { name, value }]) => {
    const location = isEmbedded(value) ? locationOf(value) : "memory";
    if (key === "db-uri" && isFolder(location)) {
      return [key, { name, value: `pglite://${resolve(location)}` }] as const;
    }
    const isPath = key === "db-embedded-init" && value !== "";
    return [key, { name, value: isPath ? resolve(value) : value }] as const;
  });
  return new Map(absolute);
}

function sourceOf(
  file: string | null,
  { readFile, started, flags }: {
    readonly readFile: ReadBytes;
    readonly started: Config | null;
    readonly flags: ConfigFlags;
  },
): ConfigSource {
  const environment = Deno.env.toObject();
  const source = configSource({
    file: file === null ? null : { path: file, text: decode(file, readFile) },
    environment,
    flags,
    databaseUrl: environment["DATABASE_URL"] ?? null,
    readFile: (path, base) =>
      readFile(base === "working directory" ? resolve(path) : relativeTo(file, path)),
    startupConfig: started,
  });
  return { ...source, configure: (values) => withPaths(source.configure(values), file) };
}

function decode(file: string, readFile: ReadBytes): string {
  try {
    return new TextDecoder().decode(readFile(file));
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : "cannot be read"}`);
  }
}

/** Opens the database that the configuration names. */
export function openConfiguredDatabase(config: Config, file: string | null): Promise<Database> {
  return openDatabase(config, {
    embeddedInit: readInit(config, file),
    applicationName: config.dialect.displayName,
    // Only Deno's server reads bodies, and it has sent a chunk before it pulls the next.
    releases: true,
  });
}

/** Returns the folder of an embedded database; null for a database in memory. */
export function embeddedFolder({ dbUri }: Pick<Config, "dbUri">): string | null {
  const location = locationOf(dbUri);
  return location === "memory" ? null : location;
}

function locationOf(uri: string): string {
  return uri.slice("pglite://".length);
}

/** Returns whether a location of PGlite is a folder and not, for example, `memory`. */
function isFolder(location: string): boolean {
  return location !== "memory" && !location.includes("://");
}

/** Resolves the folder of an embedded database against the configuration file's folder. */
function withPaths(config: Config, file: string | null): Config {
  const location = locationOf(config.dbUri);
  if (!isEmbedded(config.dbUri) || !isFolder(location)) return config;
  return { ...config, dbUri: `pglite://${relativeTo(file, location)}` };
}

function readInit(config: Config, file: string | null): string | null {
  if (config.dbEmbeddedInit === null) return null;
  return decode(relativeTo(file, config.dbEmbeddedInit), (path) => Deno.readFileSync(path));
}

/** Resolves a path in the configuration file against the file's folder. */
function relativeTo(file: string | null, path: string): string {
  return file === null || isAbsolute(path) ? path : resolve(dirname(file), path);
}
