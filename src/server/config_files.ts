/**
 * The configuration as the process finds it: its file, its environment, and the files that they name.
 *
 * @module
 */
import { dirname, isAbsolute, resolve } from "node:path";
import type { Config } from "../config/options.ts";
import { type ConfigSource, configSource, noValues } from "../config/source.ts";
import type { Database } from "../database/database.ts";
import { isEmbedded, openDatabase } from "../database/open.ts";

/** The configuration's file and environment, and the files that they name. */
export interface ConfigReader {
  /** The path of the configuration file. */
  readonly file: string | null;
  /** What was read at the start. */
  readonly config: Config;
  /** The sources that {@linkcode config} was made of. */
  readonly first: ConfigSource;
  /** Reads the sources as they are now. Throws an `Error` when they cannot be read. */
  readonly read: () => ConfigSource;
}

/** Reads file and environment. Throws an `Error` of one line that says what is wrong. */
export function configReader(file: string | null): ConfigReader {
  const readFile = fileReader();
  const read = (started: Config | null) => sourceOf(file, { readFile, started });
  const first = read(null);
  const config = first.configure(noValues);
  return { file, config, first, read: () => read(config) };
}

type ReadFile = (path: string) => Uint8Array<ArrayBuffer>;

/**
 * Makes a reader of files. What is no regular file, such as a pipe, is read once and remembered: it
 * would be empty the next time, or wait for somebody to write.
 */
function fileReader(): ReadFile {
  const streams = new Map<string, Uint8Array<ArrayBuffer>>();
  return (path) => {
    const known = streams.get(path);
    if (known !== undefined) return known;
    const { isFile } = Deno.statSync(path);
    const content = Deno.readFileSync(path);
    if (!isFile) streams.set(path, content);
    return content;
  };
}

function sourceOf(
  file: string | null,
  { readFile, started }: { readonly readFile: ReadFile; readonly started: Config | null },
): ConfigSource {
  const source = configSource({
    file: file === null ? null : { path: file, text: decode(file, readFile) },
    environment: Deno.env.toObject(),
    readFile: (path, base) =>
      readFile(base === "working directory" ? resolve(path) : beside(file, path)),
    started,
  });
  return { ...source, configure: (values) => withPaths(source.configure(values), file) };
}

function decode(file: string, readFile: ReadFile): string {
  try {
    return new TextDecoder().decode(readFile(file));
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : "cannot be read"}`);
  }
}

/** Prepares the database that the configuration names. */
export function openFor(config: Config, file: string | null): Promise<Database> {
  return openDatabase(config, {
    embeddedInit: readInit(config, file),
    applicationName: config.dialect.displayName,
    // Bodies are read by the server alone, which has sent a piece on before it asks for the next.
    releases: true,
  });
}

/** The folder of an embedded database; null for one in memory. */
export function embeddedFolder({ dbUri }: Pick<Config, "dbUri">): string | null {
  const place = placeOf(dbUri);
  return place === "memory" ? null : place;
}

function placeOf(uri: string): string {
  return uri.slice("pglite://".length);
}

/** The folder of an embedded database is meant from the configuration file's, too. */
function withPaths(config: Config, file: string | null): Config {
  const place = placeOf(config.dbUri);
  if (!isEmbedded(config.dbUri) || place === "memory" || place.includes("://")) return config;
  return { ...config, dbUri: `pglite://${beside(file, place)}` };
}

function readInit(config: Config, file: string | null): string | null {
  if (config.dbEmbeddedInit === null) return null;
  return decode(beside(file, config.dbEmbeddedInit), (path) => Deno.readFileSync(path));
}

/** Paths in a configuration file are meant from its folder. */
function beside(file: string | null, path: string): string {
  return file === null || isAbsolute(path) ? path : resolve(dirname(file), path);
}
