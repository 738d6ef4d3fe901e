/**
 * Checks which parts of PostgreSQL the server has, at the start and after a lost connection: the next one
 * may lead to another server.
 *
 * @module
 */
import {
  type Capability,
  capabilityFacts,
  capabilityNames,
  type CapabilityReport,
  probeCapabilities,
} from "../database/capabilities.ts";
import type { Config } from "../config/options.ts";
import type { Database } from "../database/database.ts";
import { errors } from "../errors/catalogue.ts";
import type { Observation } from "../observe/observation.ts";
import { databaseOptions, type DatabaseOptionsConfig } from "./database_options.ts";

/** Dependencies of a {@linkcode CapabilityCheck}. */
export interface CapabilityCheckOptions {
  readonly database: Pick<Database, "transaction" | "configure">;
  readonly observe: (event: Observation) => void;
  /** Value of `db-capabilities`. */
  readonly overrides: readonly string[];
  /** Ends the process, if it may: the service cannot work without the capability. */
  readonly exit: (capability: Capability, reason: string) => void;
  /** Connections that the service may open; null for an embedded database. */
  readonly connections: () => number | null;
}

/** Connections that PostgreSQL keeps for administrators and other programs, as the warning counts them. */
const reservedConnections = 10;

/** The check of one service. */
export class CapabilityCheck {
  readonly #options: CapabilityCheckOptions;
  #missing: CapabilityReport["missing"] = new Map();
  #isDue = true;

  constructor(options: CapabilityCheckOptions) {
    this.#options = options;
  }

  /** Has the next load check again. */
  request(): void {
    this.#isDue = true;
  }

  /** Returns `db-capabilities` with the ones that the server lacks. */
  get current(): readonly string[] {
    return listWith(this.#options.overrides, this.#missing.keys());
  }

  /**
   * Checks if that is due. Rejects if a required capability is missing, and with failures that say nothing
   * about the server.
   */
  async run(config: DatabaseOptionsConfig): Promise<void> {
    if (!this.#isDue) return;
    const { database, overrides } = this.#options;
    const { missing, maxConnections } = await probeCapabilities({
      run: (batch) => database.transaction({ ...batch, isTraced: false }),
      excluded: excludedBy(overrides),
      onIsolationRefused: () => {
        const dbCapabilities = listWith(overrides, ["isolation"]);
        database.configure(databaseOptions({ ...config, dbCapabilities }));
      },
    });
    this.#report(missing);
    this.#warnOfConnections(maxConnections);
    this.#missing = missing;
    for (const [capability, reason] of missing) {
      if (!capabilityFacts[capability].isRequired) continue;
      this.#options.exit(capability, reason);
      throw errors.cannotConnect(`the server lacks ${capability}: ${reason}`);
    }
    this.#isDue = false;
  }

  /** Reports each capability once, until it is there again. */
  #report(missing: CapabilityReport["missing"]): void {
    for (const [capability, reason] of missing) {
      const { isRequired = false, effect } = capabilityFacts[capability];
      if (isRequired || this.#missing.has(capability)) continue;
      this.#options.observe({ kind: "capability-missing", capability, reason, effect });
    }
  }

  #warnOfConnections(maxConnections: number | null): void {
    const connections = this.#options.connections();
    if (connections === null || maxConnections === null) return;
    if (connections <= maxConnections - reservedConnections) return;
    this.#options.observe({ kind: "connections-exceeded", connections, maxConnections });
  }
}

/**
 * Returns the most connections to the primary at the same time. Followers are services in other threads: they
 * divide `db-pool`, the followed service loads by a connection of its own, and each watches the servers.
 */
export function mostConnections(
  { dbChannelEnabled, dbPool, dbReplicaUri }: Pick<
    Config,
    "dbChannelEnabled" | "dbPool" | "dbReplicaUri"
  >,
  followers: number,
): number {
  const loading = followers === 0 ? 0 : 1;
  const listening = dbChannelEnabled ? 1 : 0;
  const monitoring = dbReplicaUri === null ? 0 : 1 + followers;
  return dbPool + loading + listening + monitoring;
}

function listWith(
  overrides: readonly string[],
  missing: Iterable<Capability>,
): readonly string[] {
  return [...overrides, ...Array.from(missing, (capability) => `-${capability}`)];
}

/** Returns the capabilities that `db-capabilities` decides about. */
function excludedBy(dbCapabilities: readonly string[]): ReadonlySet<Capability> {
  const named = new Set(dbCapabilities.map((item) => item.slice(1)));
  return new Set(capabilityNames.filter((name) => named.has(name)));
}
