/**
 * The tenants of a process, put together from its configuration.
 *
 * @module
 */
import { compileClaimPath } from "../auth/role_claim.ts";
import type { TenantRule } from "../auth/tenant_rule.ts";
import { type ConfigReader, openConfiguredDatabase, relativeTo } from "../cli/config_files.ts";
import type { AdminHandler } from "../admin/admin.ts";
import { keepStartupOptions, noValues } from "../config/load.ts";
import type { Config, OptionKey } from "../config/options.ts";
import { ConnectionBudget } from "../database/pool/connection_budget.ts";
import type { RequestInfo } from "../handler/handler.ts";
import { schedule } from "../lib/timers.ts";
import { countedEvents } from "../observe/counted_events.ts";
import { MetricRegistry } from "../observe/metric_registry.ts";
import type { Observation } from "../observe/observation.ts";
import { RequestMetrics } from "../observe/request_metrics.ts";
import type { ServiceOptions } from "../service/service_options.ts";
import { ControlSource } from "./control_source.ts";
import { type FindTenant, tenantFinder } from "./find_tenant.ts";
import { FolderSource } from "./folder_source.ts";
import { KeyOwners } from "./key_owners.ts";
import { openTenant, sharedKeys } from "./tenant.ts";
import { tenantConfigSource } from "./tenant_config.ts";
import { TenantCounts } from "./tenant_counts.ts";
import { TenantRegistry } from "./tenant_registry.ts";
import { tenantsAdmin, type TenantsAdminOptions } from "./tenants_admin.ts";
import { tenantsHandler } from "./tenants_handler.ts";
import type { TenantSource } from "./tenant_source.ts";

/** Dependencies of {@linkcode openTenants}. */
export interface TenantsOptions {
  readonly reader: Pick<ConfigReader, "config" | "file" | "initialSource" | "read">;
  readonly observe: (event: Observation) => void;
  /** Default: no tracing. */
  readonly tracing?: Pick<ServiceOptions, "activeSpan" | "setSpanAttribute" | "traceStage">;
}

/** The tenants of a process. */
export class Tenants {
  readonly handle: (request: Request, info?: RequestInfo) => Promise<Response>;
  readonly #options: TenantsOptions;
  readonly #source: TenantSource;
  readonly #keyOwners: KeyOwners | null;
  readonly #registry: TenantRegistry;
  readonly #counts = new TenantCounts();
  readonly #metricRegistry = new MetricRegistry();
  readonly #requestMetrics = new RequestMetrics(() => this.#config.metricsMaxRoutes);
  readonly #observe: (event: Observation) => void;
  /** Configuration of the process. */
  #config: Config;
  #isShutdownAnnounced = false;

  private constructor(
    options: TenantsOptions,
    { source, find, claimOf }: {
      readonly source: TenantSource;
      readonly find: FindTenant;
      readonly claimOf: TenantRule["claimOf"];
    },
  ) {
    this.#options = options;
    this.#source = source;
    this.#config = options.reader.config;
    this.#observe = countedEvents(this.#metricRegistry, options.observe);
    const isKnown = (name: string) => source.versionOf(name) !== null;
    this.#keyOwners = claimOf === null ? new KeyOwners(isKnown) : null;
    this.#registry = this.#makeRegistry(claimOf);
    this.handle = tenantsHandler({
      config: () => this.#config,
      find,
      registry: this.#registry,
      isReady: () => this.#isReady(),
      counts: this.#counts,
      observe: this.#observe,
    });
  }

  /**
   * Opens the source of tenants and checks them; loads none. Rejects with an `Error` of one line if the
   * tenants cannot be read, or if two of them share keys without `tenant-claim`.
   */
  static async open(options: TenantsOptions): Promise<Tenants> {
    const { reader: { config, initialSource }, observe } = options;
    const errorOf = (key: OptionKey, problem: string) =>
      initialSource.makeOptionError(key, problem, noValues);
    if (config.tenantBy.kind === "host" && config.tenantHostPattern === null) {
      throw errorOf("tenant-host-pattern", 'required with tenant-by = "host", but not set');
    }
    const claimOf = await claimReader(config, errorOf);
    const find = await tenantFinder(config).catch((error: Error) => {
      throw errorOf("tenant-by", error.message);
    });
    const source = await openSource(options.reader, observe);
    const tenants = new Tenants(options, { source, find, claimOf });
    try {
      await tenants.#checkKeys();
    } catch (error) {
      await tenants.close();
      throw error;
    }
    return tenants;
  }

  #makeRegistry(claimOf: TenantRule["claimOf"]): TenantRegistry {
    const { tenantsDbPool, tenantsMaxLoaded, tenantIdle } = this.#config;
    const budget = new ConnectionBudget(tenantsDbPool);
    const dependencies = {
      config: () => this.#config,
      read: (name: string) => this.#source.read(name),
      budget,
      keyOwners: this.#keyOwners,
      claimOf,
      requestMetrics: this.#requestMetrics,
      observe: this.#observe,
      tracing: this.#options.tracing ?? {},
    };
    const registry = new TenantRegistry({
      open: (name, onFailed) => openTenant(name, dependencies, onFailed),
      versionOf: (name) => this.#source.versionOf(name),
      maxLoaded: tenantsMaxLoaded,
      idleMs: tenantIdle * 1000,
      observe: this.#observe,
      now: () => performance.now(),
      schedule,
    });
    registerGauges(this.#metricRegistry, { registry, budget });
    return registry;
  }

  /** Rejects if two tenants share keys without `tenant-claim`. A tenant that is invalid by itself is skipped. */
  async #checkKeys(): Promise<void> {
    const names = await this.#source.names();
    if (this.#keyOwners === null) return;
    for (const name of names) {
      const config = this.#configOf(name);
      const other = config === null ? null : this.#keyOwners.claim(name, config);
      if (other !== null) throw new Error(sharedKeys(name, other));
    }
  }

  /** Returns a tenant's configuration without the part in its database; null if it is invalid. */
  #configOf(name: string): Config | null {
    try {
      const definition = this.#source.read(name);
      if (definition === null) return null;
      return tenantConfigSource(name, definition, this.#config).configure(noValues);
    } catch {
      return null;
    }
  }

  /** Configuration of the process. */
  get config(): Config {
    return this.#config;
  }

  /** Makes the handler of the admin server. */
  admin(others: Pick<TenantsAdminOptions, "isLive" | "processMetrics">): AdminHandler {
    return tenantsAdmin({
      ...others,
      config: () => this.#config,
      registry: this.#registry,
      names: () => this.#source.names(),
      isReady: () => this.#isReady(),
      metricRegistry: this.#metricRegistry,
      requestMetrics: this.#requestMetrics,
      counts: this.#counts,
    });
  }

  #isReady(): Promise<boolean> {
    return Promise.resolve(!this.#isShutdownAnnounced && this.#source.isReady());
  }

  /** Looks for new, changed and removed tenants from now on. */
  start(): void {
    this.#source.start(() => this.#registry.check());
  }

  /** Closes and reloads what has changed in the source, at once. */
  check(): void {
    this.#registry.check();
  }

  /** Reloads the schema cache of each loaded tenant. */
  reloadSchema(): Promise<void> {
    return this.#registry.reload("reloadSchema");
  }

  /** Reads the configuration of the process again, then the tenants and their configurations. */
  async reloadConfig(): Promise<void> {
    const { reader } = this.#options;
    try {
      this.#config = keepStartupOptions(reader.read().configure(noValues), reader.config);
      await this.#source.reload();
      await this.#checkKeys();
    } catch (error) {
      this.#observe({ kind: "config-reload-failed", message: (error as Error).message });
    }
    this.#registry.check();
    await this.#registry.reload("reloadConfig");
  }

  /** Says from now on that the process is not ready, although it serves requests. */
  announceShutdown(): void {
    this.#isShutdownAnnounced = true;
  }

  /** Ends the streams that have no end of their own. */
  endStreams(): void {
    this.#registry.endStreams();
  }

  /** Whether a database executes a transaction. */
  get isBusy(): boolean {
    return this.#registry.states().some(({ requests }) => requests > 0);
  }

  /** Closes all tenants and their source. */
  async close(): Promise<void> {
    await this.#registry.close();
    await this.#source.close();
  }
}

type ErrorOf = (key: OptionKey, problem: string) => Error;

/** Returns the function that reads the claim that tokens must have; null for none. */
async function claimReader(
  { tenantBy, tenantClaim }: Config,
  errorOf: ErrorOf,
): Promise<TenantRule["claimOf"]> {
  const path = tenantClaim ?? (tenantBy.kind === "claim" ? tenantBy.path : null);
  if (path === null) return null;
  return await compileClaimPath(path).catch((error: Error) => {
    throw errorOf("tenant-claim", error.message);
  });
}

async function openSource(
  { config, file }: TenantsOptions["reader"],
  observe: (event: Observation) => void,
): Promise<TenantSource> {
  const { tenants: source, dialect, dbChannel, dbChannelEnabled } = config;
  if (source?.kind !== "relation") {
    return new FolderSource(relativeTo(file, source?.path ?? ""), schedule);
  }
  const database = await openConfiguredDatabase(config, file);
  await database.start?.();
  const channel = dbChannelEnabled ? dbChannel : null;
  return new ControlSource({ database, relation: source, channel, dialect, observe });
}

function registerGauges(
  metricRegistry: MetricRegistry,
  { registry, budget }: { readonly registry: TenantRegistry; readonly budget: ConnectionBudget },
): void {
  metricRegistry.gauge({ name: "tenants_loaded", help: "Tenants that are loaded" }, () => {
    const loaded = registry.states().filter(({ state }) => state === "loaded");
    return [[[], loaded.length]];
  });
  metricRegistry.gauge(
    { name: "tenant_connections", help: "Connections of the pools of all tenants" },
    () => [[[], budget.open]],
  );
}
