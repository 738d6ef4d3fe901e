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
import { remoteKeySetsOf } from "../auth/prepare_issuers.ts";
import { errorMessage } from "../../base/errors/error_message.ts";
import { schemaCacheKey } from "../schema_cache/load.ts";
import type { AppStateBase } from "./app_state_base.ts";
import type { MetadataReader } from "./metadata_reader.ts";
import { type ClientLimits, prepareAuth, prepareClientLimits, type Snapshot } from "./snapshot.ts";

/** A configuration that was read and not yet applied. */
export interface LoadedConfig {
  /** Number of the read. A later read has a higher number. */
  readonly read: number;
  readonly values: DatabaseValues;
  readonly state: PreparedState & Pick<Snapshot, "config" | "roles">;
  /** Changed options that need a restart to take effect. */
  readonly unapplied: readonly string[];
  /** Returns an error that contains the place of an option. */
  readonly makeOptionError: (key: string, problem: string) => Error;
}

interface AppConfigurationParts {
  readonly state: AppStateBase;
  /** Reads the configuration's sources. */
  readonly source: () => ConfigSource;
  readonly metadata: MetadataReader;
  readonly remoteKeySets: RemoteKeySets;
  /** Called after a configuration was applied. */
  readonly onApplied: (config: Config) => void;
}

/** Reads configurations and applies them to the state. */
export class AppConfiguration {
  readonly #parts: AppConfigurationParts;
  readonly #state: AppStateBase;
  /** The configuration that the service was started with. */
  readonly #initialConfig: Config;
  /** Values in the database from which the current configuration was made. */
  #databaseValues: DatabaseValues = noValues;
  /** Number of reads so far. Of two concurrent reads, the later one is applied. */
  #reads = 0;

  constructor(parts: AppConfigurationParts) {
    this.#parts = parts;
    this.#state = parts.state;
    this.#initialConfig = parts.state.snapshot.config;
  }

  /**
   * Reads the configuration. `version` is the result of PostgreSQL's `version()`, or null if unknown.
   * Rejects if the configuration is invalid or the server refuses the login.
   */
  async read(version: string | null = null): Promise<LoadedConfig> {
    const { remoteKeySets } = this.#parts;
    const initialConfig = this.#initialConfig;
    const read = ++this.#reads;
    const source = this.#parts.source();
    const { values, roles } = await this.#readDatabase(source, version);
    const current = source.configure(values);
    const config = keepStartupOptions(current, initialConfig);
    const inputs = { source, values, remoteKeySets };
    const prepared = await prepareState(config, this.#state.snapshot, inputs);
    const unapplied = changedStartupOptions(current, initialConfig);
    const makeOptionError = (key: string, problem: string) =>
      source.makeOptionError(key, problem, values);
    await this.#checkNames(config, makeOptionError);
    return { read, values, state: { config, roles, ...prepared }, unapplied, makeOptionError };
  }

  /** Throws if a changed option names an object that does not exist, because each request would fail. */
  async #checkNames(config: Config, makeError: LoadedConfig["makeOptionError"]): Promise<void> {
    const { cache, config: current } = this.#state.snapshot;
    if (cache === null) return;
    const { metadata } = this.#parts;
    const { dbAnonRole: role, dbPreRequest: called } = config;
    if (role !== null && role !== current.dbAnonRole && !await metadata.hasRole(role)) {
      throw makeError("db-anon-role", "The role does not exist");
    }
    const isSame = JSON.stringify(called) === JSON.stringify(current.dbPreRequest);
    if (called !== null && !isSame && !await metadata.hasFunction(called)) {
      throw makeError("db-pre-request", "The function does not exist, or has arguments");
    }
  }

  /** Reads the configuration. If it is invalid, reports the error and resolves with null. */
  async tryRead(version: string | null = null): Promise<LoadedConfig | null> {
    try {
      return await this.read(version);
    } catch (error) {
      this.reportInvalid(error);
      return null;
    }
  }

  reportInvalid(error: unknown): void {
    const message = errorMessage(error).replaceAll("\n", "; ");
    const { failurePolicy, observe } = this.#state;
    if (!failurePolicy.isEnding) observe({ kind: "config-reload-failed", message });
  }

  /** Returns whether a configuration needs another schema cache than the current one. */
  needsLoad({ state: { config } }: LoadedConfig): boolean {
    const { cache, config: current } = this.#state.snapshot;
    return cache !== null && schemaCacheKey(config) !== schemaCacheKey(current);
  }

  /** Applies a configuration unless a later read has begun. */
  apply(loaded: LoadedConfig): void {
    if (!this.accepts(loaded)) return;
    const { auth, config } = loaded.state;
    this.#state.replace(loaded.state);
    this.#parts.remoteKeySets.keep(remoteKeySetsOf(auth.issuers));
    this.#state.observe({ kind: "config-reloaded" });
    for (const key of loaded.unapplied) this.#state.observeFinding({ kind: "restart-needed", key });
    this.warnOfOldRolePath();
    this.#state.configureDatabase();
    this.#parts.onApplied(config);
  }

  warnOfOldRolePath(): void {
    const { dialect, observe, snapshot: { auth: { rolePath } } } = this.#state;
    if (!rolePath.deprecated) return;
    observe({ kind: "legacy-role-path", path: rolePath.text, guide: dialect.rolePathGuide });
  }

  /**
   * Returns whether a configuration that was read may be applied: false if a later read has begun.
   */
  accepts({ read, values }: Pick<LoadedConfig, "read" | "values">): boolean {
    if (read !== this.#reads) return false;
    this.#databaseValues = values;
    return true;
  }

  async #readDatabase(
    source: ConfigSource,
    version: string | null,
  ): Promise<Pick<LoadedConfig, "values"> & Pick<Snapshot, "roles">> {
    const { metadata } = this.#parts;
    // The query depends on options. Their values in the database come from the previous read.
    const queryConfig = keepStartupOptions(
      source.configure(this.#databaseValues),
      this.#initialConfig,
    );
    if (!queryConfig.dbConfig) return { values: noValues, roles: noRoleSettings };
    return {
      // If values or settings of roles cannot be read, the service keeps the previous ones.
      values: await metadata.readConfig(queryConfig) ?? this.#databaseValues,
      roles: await metadata.readRoles(version) ?? this.#state.snapshot.roles,
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
