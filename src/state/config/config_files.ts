/** Reads the configuration: its file, the environment, and the files that either names. @module */
import process from "node:process";
import { resolve } from "node:path";
import type { Config } from "./options.ts";
import type { OptionTable } from "./options/option.ts";
import { type ConfigFlags, noValues } from "./load.ts";
import { type ConfigSource, configSource } from "./source.ts";
import type { Database, DatabaseDependencies, InitScript } from "../../database/database.ts";
import {
  isEmbedded,
  openDatabase,
  type OpenTransport,
  openTransport,
} from "../../database/open.ts";
import { errorCode } from "../../base/lib/error_code.ts";
import {
  type ReadBytes,
  readBytes,
  readText,
  relativeTo,
  shortPath,
} from "../../base/lib/files.ts";
import { installCall } from "../../base/lib/program_call.ts";

/** The configuration that arguments name: a file, a connection string, options. */
export interface ConfigArguments {
  /** Path of the configuration file; null if the arguments name none. */
  readonly file: string | null;
  /** Option values of `--key=value`, and `db-uri` of a connection string. */
  readonly flags: ConfigFlags;
}

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

interface ConfigReaderOptions {
  readonly wingOptions: OptionTable;
  /** Values that take precedence over the options' defaults. Default: none. */
  readonly defaults?: Partial<Config>;
}

/** Reads file, environment and flags. Throws an `Error` if the configuration is invalid. */
export function configReader(
  { file, flags }: ConfigArguments,
  { wingOptions, defaults = {} }: ConfigReaderOptions,
): ConfigReader {
  const readFile = fileReader();
  const pathFlags = withResolvedPaths(flags);
  const read = (started: Config | null) =>
    sourceOf(file, { readFile, started, flags: pathFlags, defaults, wingOptions });
  const initialSource = read(null);
  const config = initialSource.configure(noValues);
  return { file, config, initialSource, read: () => read(config) };
}

/** Returns a reader of files. It reads files that are not regular, such as pipes, only once and
 * keeps the content. A second read would return nothing, or wait for another writer. */
function fileReader(): ReadBytes {
  const streams = new Map<string, Uint8Array<ArrayBuffer>>();
  return (path) => {
    const bytes = streams.get(path);
    if (bytes !== undefined) return bytes;
    const { content, isRegular } = readBytes(path);
    if (!isRegular) streams.set(path, content);
    return content;
  };
}

/** Makes the paths in flags absolute, since paths in the file are relative to the file's folder. */
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
  { readFile, started, flags, defaults, wingOptions }: Required<ConfigReaderOptions> & {
    readonly readFile: ReadBytes;
    readonly started: Config | null;
    readonly flags: ConfigFlags;
  },
): ConfigSource {
  const environment = readEnvironment();
  const source = configSource({
    file: file === null ? null : { path: file, text: readText(file, readFile) },
    environment,
    flags,
    defaults,
    databaseUrl: environment["DATABASE_URL"] ?? null,
    readFile: (path, base) =>
      readFile(base === "working directory" ? resolve(path) : relativeTo(file, path)),
    startupConfig: started,
    wingOptions,
  });
  return { ...source, configure: (values) => withPaths(source.configure(values), file) };
}

export function readEnvironment(): Record<string, string> {
  return { ...process.env } as Record<string, string>;
}

export async function openConfiguredDatabase(
  config: Config,
  file: string | null,
): Promise<Database> {
  if (isEmbedded(config.dbUri)) await requireEmbeddedPostgres();
  return await openDatabase(config, dependenciesOf(config, file));
}

/** Opens one connection to the database of the configuration. */
export async function openConfiguredTransport(
  config: Config,
  file: string | null,
): Promise<OpenTransport> {
  if (isEmbedded(config.dbUri)) await requireEmbeddedPostgres();
  return await openTransport(config, dependenciesOf(config, file));
}

/** If PGlite is not installed, rejects with an `Error` that contains the command to install it. */
async function requireEmbeddedPostgres(): Promise<void> {
  try {
    await import("@electric-sql/pglite");
  } catch (error) {
    if (errorCode(error) !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error(
      `the embedded PostgreSQL needs the package @electric-sql/pglite: ${installCall()}`,
      { cause: error },
    );
  }
}

function dependenciesOf(config: Config, file: string | null): DatabaseDependencies {
  return {
    embeddedInit: readInit(config, file),
    applicationName: config.dialect.displayName,
    // Deno's server keeps no chunk after it requests the next one. Node's server may keep it.
    freesChunks: "Deno" in globalThis,
  };
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
export function withPaths(config: Config, file: string | null): Config {
  const location = locationOf(config.dbUri);
  if (!isEmbedded(config.dbUri) || !isFolder(location)) return config;
  return { ...config, dbUri: `pglite://${relativeTo(file, location)}` };
}

function readInit({ dbEmbeddedInit }: Config, file: string | null): InitScript | null {
  if (dbEmbeddedInit === null) return null;
  const path = relativeTo(file, dbEmbeddedInit);
  return { text: readText(path), name: shortPath(path) };
}
