/** The tenants of a process, created from its configuration. @module */
import { compileClaimPath } from "../../state/auth/role_claim.ts";
import type { TenantRule } from "../../state/auth/claims.ts";
import type { ConfigFile } from "../../state/config/file.ts";
import { keepStartupOptions, noValues } from "../../state/config/load.ts";
import type { TenantConfig } from "./tenant_options.ts";
import type { HostAdminOptions, HostOptions, ServiceHost } from "../../api/wing.ts";
import type { RequestInfo } from "../../api/handler/handler.ts";
import { schedule } from "../../base/lib/timers.ts";
import { countedEvents } from "../../base/observe/counted_events.ts";
import { MetricRegistry } from "../../base/observe/metric_registry.ts";
import type { Observation } from "../../base/observe/observation.ts";
import { RequestMetrics } from "../../base/observe/request_metrics.ts";
import { isTenantName, tenantFinder } from "./find_tenant.ts";
import { openTenant, poolShareOf } from "./tenant.ts";
import { TenantRegistry } from "./tenant_registry.ts";
import { tenantsAdmin } from "./tenants_admin.ts";
import { tenantsHandler } from "./tenants_handler.ts";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../base/lib/error_code.ts";
import { readBytes, relativeTo } from "../../base/lib/files.ts";
import type { GuardedRoute } from "../../base/http/admin_route.ts";

/** Milliseconds between two checks of the files of loaded tenants. */
const intervalMs = 1000;

export class Tenants implements ServiceHost {
  readonly handle: (request: Request, info?: RequestInfo) => Promise<Response>;
  readonly #options: HostOptions;
  readonly #source: ReturnType<typeof folderSource>;
  readonly #registry: TenantRegistry;
  readonly #metricRegistry = new MetricRegistry();
  readonly #requestMetrics = new RequestMetrics();
  readonly #observe: (event: Observation) => void;
  /** Configuration of the process. */
  #config: TenantConfig;
  #isShutdownAnnounced = false;
  #stopChecks = () => {};

  private constructor(options: HostOptions, claimOf: TenantRule["claimOf"]) {
    const { file } = options.reader;
    const config = options.reader.config as TenantConfig;
    this.#options = options;
    this.#source = folderSource(relativeTo(file, config.tenants ?? ""));
    this.#config = config;
    this.#observe = countedEvents(this.#metricRegistry, options.observe);
    this.#registry = this.#makeRegistry(claimOf);
    this.handle = tenantsHandler({
      config: () => this.#config,
      find: tenantFinder(config as TenantConfig & { readonly mcpPath: string | null }),
      registry: this.#registry,
      isReady: () => this.#isReady(),
      count: tenantCounter(this.#metricRegistry),
      observe: this.#observe,
    });
  }

  /** Opens the source of tenants, without loading any. Rejects with an `Error` of one line if
   * options contradict each other, or if the folder cannot be read. */
  static async open(options: HostOptions): Promise<Tenants> {
    const { initialSource } = options.reader;
    const config = options.reader.config as TenantConfig;
    const errorOf = (key: string, problem: string) =>
      initialSource.makeOptionError(key, problem, noValues);
    if (config.tenantBy === "host" && config.tenantHostPattern === null) {
      throw errorOf("tenant-host-pattern", 'required with tenant-by = "host", but not set');
    }
    if (poolShareOf(config) < minPoolShare) {
      const min = minPoolShare * config.tenantsMaxLoaded;
      throw errorOf("tenants-db-pool", `expected at least ${min}, two for each loaded tenant`);
    }
    const tenants = new Tenants(options, await claimReader(config, errorOf));
    tenants.#source.names();
    return tenants;
  }

  #makeRegistry(claimOf: TenantRule["claimOf"]): TenantRegistry {
    const dependencies = {
      config: () => this.#config,
      source: this.#source,
      claimOf,
      wings: this.#options.wings,
      requestMetrics: this.#requestMetrics,
      observe: this.#observe,
      tracing: this.#options.tracing ?? {},
    };
    const registry = new TenantRegistry({
      open: (name, opening) => openTenant(name, dependencies, opening),
      versionOf: this.#source.versionOf,
      maxLoaded: this.#config.tenantsMaxLoaded,
      observe: this.#observe,
      now: () => performance.now(),
      schedule,
    });
    registerGauges(this.#metricRegistry, registry);
    return registry;
  }

  /** Configuration of the process. */
  get config(): TenantConfig {
    return this.#config;
  }

  /** Returns the routes of the admin server. */
  adminRoutes(options: HostAdminOptions): ReadonlyMap<string, GuardedRoute> {
    return tenantsAdmin({
      ...options,
      config: () => this.#config,
      registry: this.#registry,
      names: this.#source.names,
      isReady: () => this.#isReady(),
      metricRegistry: this.#metricRegistry,
      requestMetrics: this.#requestMetrics,
    });
  }

  #isReady(): Promise<boolean> {
    return Promise.resolve(!this.#isShutdownAnnounced && this.#source.isReady());
  }

  /** Starts to look for new, changed and removed tenants. */
  start(): void {
    this.#stopChecks = schedule(() => {
      this.#registry.check();
      this.start();
    }, intervalMs);
  }

  /** Immediately closes or reloads tenants that have changed in the source. */
  check(): void {
    this.#registry.check();
  }

  /** Reloads the schema cache of each loaded tenant. */
  reloadSchema(): Promise<void> {
    return this.#registry.reload("reloadSchema");
  }

  /** Reads the configuration of the process again, then the configurations of the tenants. */
  async reloadConfig(): Promise<void> {
    const { reader } = this.#options;
    try {
      const current = reader.read().configure(noValues);
      this.#config = keepStartupOptions(current, reader.config) as TenantConfig;
    } catch (error) {
      this.#observe({ kind: "config-reload-failed", message: (error as Error).message });
    }
    this.#registry.check();
    await this.#registry.reload("reloadConfig");
  }

  /** Makes the process not ready, although it still serves requests. */
  announceShutdown(): void {
    this.#isShutdownAnnounced = true;
  }

  /** Ends endless streams, such as live queries. */
  endStreams(): void {
    this.#registry.endStreams();
  }

  /** Whether a tenant has a request in progress. */
  get isBusy(): boolean {
    return this.#registry.states().some(({ requests }) => requests > 0);
  }

  /** Closes all tenants and their source. */
  async close(): Promise<void> {
    this.#stopChecks();
    await this.#registry.close();
  }
}

/** Minimum pool size of a tenant. A pool of one connection needs another one for notifications. */
const minPoolShare = 2;

/** Returns a function that reads the required claim of tokens, or null. */
async function claimReader(
  { tenantClaim }: TenantConfig,
  errorOf: (key: string, problem: string) => Error,
): Promise<TenantRule["claimOf"]> {
  if (tenantClaim === null) return null;
  return await compileClaimPath(tenantClaim).catch((error: Error) => {
    throw errorOf("tenant-claim", error.message);
  });
}

/** Returns a function that counts responses of tenants. The measured time ends with the head of the
 * response. */
function tenantCounter(registry: MetricRegistry) {
  const counter = (name: string, help: string) =>
    registry.counter({ name, help, labels: ["tenant"] });
  const requests = counter("tenant_requests_total", "Requests by tenant");
  const failures = counter(
    "tenant_failed_requests_total",
    "Responses by tenant with a status of 500 or above",
  );
  const times = counter(
    "tenant_request_seconds_total",
    "Time to the head of the responses by tenant",
  );
  return (tenant: string, status: number, seconds: number) => {
    requests.increment(tenant);
    failures.add(status >= 500 ? 1 : 0, tenant);
    times.add(seconds, tenant);
  };
}

function registerGauges(metricRegistry: MetricRegistry, registry: TenantRegistry): void {
  metricRegistry.gauge({ name: "tenants_loaded", help: "Tenants that are loaded" }, () => {
    const loaded = registry.states().filter(({ state }) => state === "loaded");
    return [[[], loaded.length]];
  });
  metricRegistry.gauge(
    { name: "tenant_connections", help: "Connections of the pools of all tenants" },
    () => [[[], registry.states().reduce((sum, { connections }) => sum + connections, 0)]],
  );
}

const extension = ".conf";

/** Reads tenants from a folder. A new file immediately becomes a tenant. */
function folderSource(folder: string) {
  const pathOf = (name: string) => join(folder, name + extension);
  const files = () => {
    try {
      return readdirSync(folder);
    } catch (cause) {
      const code = errorCode(cause) ?? "cannot be read";
      throw new Error(`tenants: cannot read the folder ${folder}: ${code}`, { cause });
    }
  };
  /** Returns the version of a tenant's definition; null if the tenant is unknown. */
  const versionOf = (name: string): string | null => {
    try {
      const stats = statSync(pathOf(name), { throwIfNoEntry: false });
      return stats?.isFile() ? `${stats.mtimeMs} ${stats.size} ${stats.ino}` : null;
    } catch {
      return null;
    }
  };
  return {
    versionOf,
    /** Returns the names of all tenants. Throws an `Error` if the folder cannot be read. */
    names: (): readonly string[] =>
      files()
        .filter((file) => file.endsWith(extension))
        .map((file) => file.slice(0, -extension.length))
        .filter(isTenantName)
        .toSorted(),
    /** Returns a tenant's file; null if the tenant is unknown. Throws an `Error` if it cannot be read. */
    read: (name: string): ConfigFile | null => {
      if (versionOf(name) === null) return null;
      const path = pathOf(name);
      return { path, text: new TextDecoder().decode(readBytes(path).content) };
    },
    /** Whether the folder exists. */
    isReady: () => statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false,
  };
}
