/** Reads the configuration: its file, the environment, and the files that they name. @module */
import process from "node:process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, resolve } from "node:path";
import type { Config } from "./options.ts";
import { type ConfigFlags, noValues } from "./load.ts";
import { nearest } from "../../base/lib/nearest.ts";
import { type ConfigSource, configSource } from "./source.ts";
import type { Database, DatabaseDependencies, InitScript } from "../../database/database.ts";
import {
  isEmbedded,
  openDatabase,
  type OpenTransport,
  openTransport,
} from "../../database/open.ts";
import { errorCode } from "../../base/lib/error_code.ts";
import type { ConfigArguments } from "../../api/command.ts";
import { isFile } from "../../base/observe/output.ts";
import { installCall } from "../../base/lib/program_call.ts";
import { oneLine } from "../../base/observe/redact.ts";

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
 * Reads file, environment and flags; `defaults` precede the options' own defaults. Throws an `Error`
 * if the configuration is invalid.
 */
export function configReader(
  { file, flags }: ConfigArguments,
  defaults: Partial<Config> = {},
): ConfigReader {
  const readFile = fileReader();
  const pathFlags = withResolvedPaths(flags);
  const read = (started: Config | null) =>
    sourceOf(file, { readFile, started, flags: pathFlags, defaults });
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
    const { content, isRegular } = readBytes(path);
    if (!isRegular) streams.set(path, content);
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
  { readFile, started, flags, defaults }: {
    readonly readFile: ReadBytes;
    readonly started: Config | null;
    readonly flags: ConfigFlags;
    readonly defaults: Partial<Config>;
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
  });
  return { ...source, configure: (values) => withPaths(source.configure(values), file) };
}

/** Reads a file. Throws an `Error` with the reason only: the caller knows the name. */
export function readBytes(
  path: string,
): { readonly content: Uint8Array<ArrayBuffer>; readonly isRegular: boolean } {
  try {
    const isRegular = statSync(path).isFile();
    return { content: new Uint8Array(readFileSync(path)), isRegular };
  } catch (error) {
    throw new Error(fileErrorReason(error), { cause: error });
  }
}

const missingFile = "no such file";

/** Reasons by the system's code. */
const fileErrorReasons: ReadonlyMap<unknown, string> = new Map([
  ["ENOENT", missingFile],
  ["ENOTDIR", missingFile],
  ["EACCES", "permission denied"],
  ["EISDIR", "is a directory"],
]);

function fileErrorReason(error: unknown): string {
  const code = errorCode(error);
  return fileErrorReasons.get(code) ?? `cannot be read (${code ?? error})`;
}

export function readEnvironment(): Record<string, string> {
  return { ...process.env } as Record<string, string>;
}

/** Reads a text. Throws an `Error` that names the file. */
export function readText(
  file: string,
  readFile: ReadBytes = (path) => readBytes(path).content,
): string {
  try {
    return new TextDecoder().decode(readFile(file));
  } catch (error) {
    const reason = error instanceof Error ? error.message : "cannot be read";
    const near = reason === missingFile ? nearFile(file) : null;
    throw new Error(`${file}: ${reason}${near === null ? "" : `; did you mean ${near}?`}`);
  }
}

/** Returns the path of a file in the same folder with a similar name; null without one. */
function nearFile(path: string): string | null {
  const folder = dirname(path);
  try {
    const names = readdirSync(folder).filter((name) => isFile(join(folder, name)));
    const name = nearest(basename(path), names);
    return name === null ? null : path.slice(0, -basename(path).length) + oneLine(name);
  } catch {
    return null;
  }
}

export async function openConfiguredDatabase(
  config: Config,
  file: string | null,
): Promise<Database> {
  if (isEmbedded(config.dbUri)) await requireEmbeddedPostgres();
  return await openDatabase(config, dependenciesOf(config, file));
}

/** Opens one connection to the database that the configuration names. */
export async function openConfiguredTransport(
  config: Config,
  file: string | null,
): Promise<OpenTransport> {
  if (isEmbedded(config.dbUri)) await requireEmbeddedPostgres();
  return await openTransport(config, dependenciesOf(config, file));
}

/** Rejects with an `Error` that says how to install PGlite if it is missing. */
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
    // Deno's server has sent a chunk before it pulls the next; Node's may still hold it.
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

/** Returns a path as seen from the working directory, or the absolute path if that is shorter. */
export function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere !== "" && fromHere.length < path.length ? fromHere : path;
}

/** Resolves a path in the configuration file against the file's folder. */
export function relativeTo(file: string | null, path: string): string {
  return file === null || isAbsolute(path) ? path : resolve(dirname(file), path);
}
