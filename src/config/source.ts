/**
 * The configuration's sources outside of the database, read once: what the database says can be added
 * to them.
 *
 * @module
 */
import { type ConfigSources, type DatabaseValues, loadConfig, makeOptionError } from "./load.ts";
import type { Config, OptionKey } from "./options.ts";

/** Makes configurations. */
export interface ConfigSource {
  /** Raises `ConfigError` for what cannot be used. */
  configure(values: DatabaseValues): Config;
  /** Words an error of an option that turned out to be unusable only later, and says where it stands. */
  makeOptionError(key: OptionKey, problem: string, values: DatabaseValues): Error;
}

/**
 * Makes a source of a file's text, the environment and what a program gives. Each file that a value
 * names is read once, however often the configuration is made.
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
