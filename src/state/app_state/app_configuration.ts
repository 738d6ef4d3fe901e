/** Reads the configuration from its sources and from the database, and prepares the state that
 * belongs to it: keys, the role path, limits. @module */
import type { RemoteKeySets } from "../auth/remote_key_set.ts";
import { AuthSettingError } from "../auth/keys.ts";
import { noRoleSettings } from "../config/in_database.ts";
import {
  changedStartupOptions,
  type DatabaseValues,
  keepStartupOptions,
  noValues,
} from "../config/load.ts";
import type { Config } from "../config/options.ts";
import type { ConfigSource } from "../config/source.ts";
import type { MetadataReader } from "./metadata_reader.ts";
import { type ClientLimits, prepareAuth, prepareClientLimits, type Snapshot } from "./snapshot.ts";

/** A configuration that was read and not yet applied. */
export interface LoadedConfig {
  /** Number of the read; a later one has a higher number. */
  readonly read: number;
  readonly values: DatabaseValues;
  readonly state: PreparedState & Pick<Snapshot, "config" | "roles">;
  /** Changed options that take effect after a restart. */
  readonly unapplied: readonly string[];
  /** Makes an error that names the place of an option. */
  readonly makeOptionError: (key: string, problem: string) => Error;
}

interface AppConfigurationOptions {
  /** Reads the configuration's sources. */
  readonly source: () => ConfigSource;
  /** The configuration that the service was started with. */
  readonly initialConfig: Config;
  readonly metadata: MetadataReader;
  readonly remoteKeySets: RemoteKeySets;
  /** The current state, which a read continues. */
  readonly snapshot: () => Snapshot;
}

export class AppConfiguration {
  readonly #options: AppConfigurationOptions;
  /** Values in the database from which the current configuration was made. */
  #databaseValues: DatabaseValues = noValues;
  /** Number of reads. Of two concurrent reads the later one is applied. */
  #reads = 0;

  constructor(options: AppConfigurationOptions) {
    this.#options = options;
  }

  /**
   * Reads the configuration. `version` is the result of `version()` if it is known. Rejects if the
   * configuration is invalid or the server refuses the login.
   */
  async read(version: string | null = null): Promise<LoadedConfig> {
    const { initialConfig, remoteKeySets, snapshot } = this.#options;
    const read = ++this.#reads;
    const source = this.#options.source();
    const { values, roles } = await this.#readDatabase(source, version);
    const current = source.configure(values);
    const config = keepStartupOptions(current, initialConfig);
    const prepared = await prepareState(config, snapshot(), { source, values, remoteKeySets });
    const unapplied = changedStartupOptions(current, initialConfig);
    const makeOptionError = (key: string, problem: string) =>
      source.makeOptionError(key, problem, values);
    return { read, values, state: { config, roles, ...prepared }, unapplied, makeOptionError };
  }

  /** Returns whether a configuration that was read is applied: false if a later read has begun. */
  accepts({ read, values }: Pick<LoadedConfig, "read" | "values">): boolean {
    if (read !== this.#reads) return false;
    this.#databaseValues = values;
    return true;
  }

  async #readDatabase(
    source: ConfigSource,
    version: string | null,
  ): Promise<Pick<LoadedConfig, "values"> & Pick<Snapshot, "roles">> {
    const { initialConfig, metadata, snapshot } = this.#options;
    // The options of the query itself come from the previous values in the database.
    const queryConfig = keepStartupOptions(source.configure(this.#databaseValues), initialConfig);
    if (!queryConfig.dbConfig) return { values: noValues, roles: noRoleSettings };
    return {
      // Values and settings of roles, such as a timeout, stay as they were if they cannot be read.
      values: await metadata.readConfig(queryConfig) ?? this.#databaseValues,
      roles: await metadata.readRoles(version) ?? snapshot().roles,
    };
  }
}

type PreparedState = ClientLimits & Pick<Snapshot, "auth">;

/** Prepares keys, the role path and limits. An error names the place of the invalid option. */
export async function prepareState(
  config: Config,
  previous: Snapshot | null,
  { source, values, remoteKeySets }: {
    readonly source: ConfigSource;
    readonly values: DatabaseValues;
    readonly remoteKeySets: RemoteKeySets;
  },
): Promise<PreparedState> {
  const auth = await prepareAuth(config, previous, remoteKeySets).catch((error) => {
    if (!(error instanceof AuthSettingError)) throw error;
    throw source.makeOptionError(error.key, error.message, values);
  });
  const limits = await prepareClientLimits(config, previous).catch((error: Error) => {
    throw source.makeOptionError("rate-limits", error.message, values);
  });
  return { auth, ...limits };
}
