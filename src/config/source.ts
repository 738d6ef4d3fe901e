/**
 * The configuration's sources outside of the database, read once: what the database says can be added
 * to them.
 *
 * @module
 */
import { blame, type ConfigSources, type DatabaseValues, loadConfig } from "./load.ts";
import type { Config, OptionKey } from "./options.ts";

/** No value in the database. */
export const noValues: DatabaseValues = new Map();

/** Makes configurations. */
export interface ConfigSource {
  /** Raises `ConfigError` for what cannot be used. */
  configure(values: DatabaseValues): Config;
  /** Words an error of an option that turned out to be unusable only later, and says where it stands. */
  blame(key: OptionKey, problem: string, values: DatabaseValues): Error;
}

/** Makes a source of a file's text, the environment and what a program gives. */
export function configSource(sources: ConfigSources): ConfigSource {
  return {
    configure: (values) => loadConfig(sources, values),
    blame: (key, problem, database) => blame(sources, { key, problem, database }),
  };
}
