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
import type { Config, OptionKey } from "../config/options.ts";
import type { ConfigSource } from "../config/source.ts";
import type { MetadataReader } from "./metadata_reader.ts";
import {
  type AuthState,
  type ClientLimits,
  prepareAuth,
  prepareClientLimits,
  type Snapshot,
} from "./snapshot.ts";

/** A configuration that was read and not yet applied. */
export interface LoadedConfig extends Pick<Snapshot, "config" | "auth" | "roles"> {
  /** Number of the read; a later one has a higher number. */
  readonly read: number;
  readonly values: DatabaseValues;
  readonly clientLimits: ClientLimits;
  /** Changed options that take effect after a restart. */
  readonly unapplied: readonly OptionKey[];
}

interface ServiceConfigurationOptions {
  /** Reads the configuration's sources. */
  readonly source: () => ConfigSource;
  /** Sources that were read already. */
  readonly initialSource: ConfigSource;
  /** The configuration that the service was started with. */
  readonly initialConfig: Config;
  readonly metadata: MetadataReader;
  readonly remoteKeySets: RemoteKeySets;
  /** The current state, which a read continues. */
  readonly snapshot: () => Snapshot;
}

export class ServiceConfiguration {
  readonly #options: ServiceConfigurationOptions;
  /** Values in the database from which the current configuration was made. */
  #databaseValues: DatabaseValues = noValues;
  /**
   * Sources that the service was created with, for the first load. Null after that load, or after
   * the configuration was reloaded.
   */
  #unusedSource: ConfigSource | null;
  /** Number of reads. Of two concurrent reads the later one is applied. */
  #reads = 0;

  constructor(options: ServiceConfigurationOptions) {
    this.#options = options;
    this.#unusedSource = options.initialSource;
  }

  /** Reads the sources again from now on. */
  dropInitialSource(): void {
    this.#unusedSource = null;
  }

  /** Returns the sources that the service was created with, once; null afterwards. */
  takeInitialSource(): ConfigSource | null {
    const unused = this.#unusedSource;
    this.#unusedSource = null;
    return unused;
  }

  /**
   * Reads the configuration. `version` is the result of `version()` if it is known; `initialSource`
   * replaces the sources. Rejects if the configuration is invalid or the server refuses the login.
   */
  async read(
    version: string | null = null,
    initialSource: ConfigSource | null = null,
  ): Promise<LoadedConfig> {
    const { initialConfig, remoteKeySets, snapshot } = this.#options;
    const read = ++this.#reads;
    const source = initialSource ?? this.#options.source();
    const { values, roles } = await this.#readDatabase(source, version);
    const current = source.configure(values);
    const config = keepStartupOptions(current, initialConfig);
    const auth = await prepareAuthOf(config, snapshot(), { source, values, remoteKeySets });
    const clientLimits = await prepareLimitsOf(config, snapshot(), {
      source,
      values,
    });
    const unapplied = changedStartupOptions(current, initialConfig);
    return { read, config, values, roles, auth, clientLimits, unapplied };
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
  ): Promise<Pick<LoadedConfig, "values" | "roles">> {
    const { initialConfig, metadata, snapshot } = this.#options;
    // The options of the query itself come from the previous values in the database.
    const queryConfig = keepStartupOptions(source.configure(this.#databaseValues), initialConfig);
    if (!queryConfig.dbConfig) return { values: noValues, roles: noRoleSettings };
    return {
      values: await metadata.readConfig(queryConfig),
      // Requests keep the settings of their roles, such as a timeout, if these cannot be read.
      roles: await metadata.readRoles(version) ?? snapshot().roles,
    };
  }
}

/** Prepares keys and role path. An error names the place of the invalid option. */
export async function prepareAuthOf(
  config: Config,
  previous: Snapshot | null,
  { source, values, remoteKeySets }: {
    readonly source: ConfigSource;
    readonly values: DatabaseValues;
    readonly remoteKeySets: RemoteKeySets;
  },
): Promise<AuthState> {
  try {
    return await prepareAuth(config, previous, remoteKeySets);
  } catch (error) {
    if (!(error instanceof AuthSettingError)) throw error;
    throw source.makeOptionError(error.key, error.message, values);
  }
}

/** Prepares the limits of requests. An error names the place of the invalid policies. */
export async function prepareLimitsOf(
  config: Config,
  previous: Snapshot | null,
  { source, values }: {
    readonly source: ConfigSource;
    readonly values: DatabaseValues;
  },
): Promise<ClientLimits> {
  try {
    return await prepareClientLimits(config, previous);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw source.makeOptionError("rate-limits", problem, values);
  }
}
