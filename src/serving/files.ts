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
import { fail, textOf } from "./output.ts";

/** Reads file and environment, or ends the process with one line that says what is wrong. */
export function readConfig(file: string | null): Config {
  try {
    return sourceOf(file).configure(noValues);
  } catch (error) {
    return fail(textOf(error));
  }
}

/** Reads the configuration's sources as they are now. Raises an `Error` when they cannot be read. */
export function sourceOf(file: string | null): ConfigSource {
  const source = configSource({
    file: file === null ? null : { path: file, text: readText(file) },
    environment: Deno.env.toObject(),
    readFile: (path) => Deno.readFileSync(beside(file, path)),
  });
  return { ...source, configure: (values) => withPaths(source.configure(values), file) };
}

/** Prepares the database that the configuration names. */
export function openFor(config: Config, file: string | null): Promise<Database> {
  return openDatabase(config, {
    embeddedInit: readInit(config, file),
    applicationName: config.dialect.displayName,
    // Bodies are read by the server alone, which has sent a piece on before it asks for the next.
    releases: true,
    now: Date.now,
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
  return readText(beside(file, config.dbEmbeddedInit));
}

function readText(file: string): string {
  try {
    return Deno.readTextFileSync(file);
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : "cannot be read"}`);
  }
}

/** Paths in a configuration file are meant from its folder. */
function beside(file: string | null, path: string): string {
  return file === null || isAbsolute(path) ? path : resolve(dirname(file), path);
}
