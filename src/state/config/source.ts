/** Reads the sources of the configuration outside the database once. Each load adds the values in
 * the database. @module */
import { type ConfigSources, type DatabaseValues, loadConfig, makeOptionError } from "./load.ts";
import type { Config } from "./options.ts";

/** Loads configurations from sources that are read once. */
export interface ConfigSource {
  /** Throws `ConfigError` for an invalid value. */
  configure(values: DatabaseValues): Config;
  /** Returns an error for an option that proves invalid after loading. The message contains the
   * place of its value. */
  makeOptionError(key: string, problem: string, values: DatabaseValues): Error;
}

/**
 * Creates a source from a file's text, the environment and programmatic options. Each file that a
 * value names is read once.
 */
export function configSource(sources: ConfigSources): ConfigSource {
  const contents = new Map<string, Uint8Array>();
  const readFile: ConfigSources["readFile"] = (path, base) => {
    const key = `${base}:${path}`;
    const content = contents.get(key) ?? sources.readFile(path, base);
    contents.set(key, content);
    return content;
  };
  const read = { ...sources, readFile };
  return {
    configure: (values) => loadConfig(read, values),
    makeOptionError: (key, problem, database) => makeOptionError(read, { key, problem, database }),
  };
}
