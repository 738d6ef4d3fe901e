/**
 * One tenant: its service with its own database, keys and caches.
 *
 * @module
 */
import type { TenantRule } from "../auth/tenant_rule.ts";
import { openConfiguredDatabase } from "../cli/config_files.ts";
import { noValues } from "../config/load.ts";
import type { Config } from "../config/options.ts";
import type { ConnectionBudget } from "../database/pool/connection_budget.ts";
import { errorFacts } from "../errors/error_response.ts";
import { serviceHandler } from "../handler/handler.ts";
import type { Observation } from "../observe/observation.ts";
import type { RequestMetrics } from "../observe/request_metrics.ts";
import { Service } from "../service/service.ts";
import type { ServiceOptions } from "../service/service_options.ts";
import type { KeyOwners } from "./key_owners.ts";
import { tenantConfigSource, type TenantDefinition } from "./tenant_config.ts";
import type { LoadedTenant } from "./tenant_registry.ts";

/** Dependencies that all tenants of a process share. */
export interface TenantDependencies {
  /** Configuration of the process. */
  readonly config: () => Config;
  /** Returns a tenant's definition; null for an unknown one. */
  readonly read: (name: string) => TenantDefinition | null;
  readonly budget: ConnectionBudget;
  /** Null if tokens need a claim with the tenant's name. */
  readonly keyOwners: KeyOwners | null;
  readonly claimOf: TenantRule["claimOf"];
  readonly requestMetrics: RequestMetrics | null;
  readonly observe: (event: Observation) => void;
  readonly tracing: Pick<ServiceOptions, "activeSpan" | "setSpanAttribute" | "traceStage">;
}

/**
 * Loads a tenant; null for an unknown one. Rejects with an `Error` of one line if it cannot be served.
 * Calls `onFailed` if that happens later.
 */
export async function openTenant(
  name: string,
  dependencies: TenantDependencies,
  onFailed: (reason: string) => void,
): Promise<LoadedTenant | null> {
  const definition = dependencies.read(name);
  if (definition === null) return null;
  const source = () => {
    const current = dependencies.read(name);
    if (current === null) throw new Error("the tenant was removed");
    return tenantConfigSource(name, current, dependencies.config());
  };
  const initialSource = tenantConfigSource(name, definition, dependencies.config());
  const config = initialSource.configure(noValues);
  checkKeys(name, config, dependencies);
  const { file, isFile } = definition;
  const database = await openConfiguredDatabase(
    config,
    isFile ? file.path : null,
    dependencies.budget,
  );
  let failure: string | null = null;
  let isLoaded = false;
  const fail = (reason: string) => {
    failure ??= reason;
    if (isLoaded) onFailed(reason);
  };
  try {
    const service: Service = await Service.create({
      source,
      initialSource,
      database,
      now: Date.now,
      observe: (event) => {
        dependencies.observe(
          event.kind === "request-finished" ? event : { ...event, tenant: name },
        );
        if (event.kind !== "config-reloaded") return;
        const conflict = keyConflict(name, service.snapshot.config, dependencies);
        if (conflict !== null) fail(conflict);
      },
      onFatal: () => fail("its service has ended"),
      missingCacheDetail: "none",
      tenant: { name, claimOf: dependencies.claimOf },
      ...dependencies.tracing,
      ...(dependencies.requestMetrics === null
        ? {}
        : { requestMetrics: dependencies.requestMetrics }),
    });
    const tenant = await load(service, { version: definition.version, failure: () => failure });
    isLoaded = true;
    return tenant;
  } catch (error) {
    await database.close();
    throw error;
  }
}

async function load(
  service: Service,
  { version, failure }: { readonly version: string; readonly failure: () => string | null },
): Promise<LoadedTenant> {
  try {
    await service.database.start?.();
    service.listen();
    await service.reloadSchema();
    const { cache, cacheError } = service.snapshot;
    if (cache === null) {
      const facts = cacheError === null ? null : errorFacts(cacheError, service.dialect);
      throw new Error(failure() ?? facts?.message ?? "its schema cache cannot be loaded");
    }
    if (failure() !== null) throw new Error(failure()!);
  } catch (error) {
    await service.close();
    throw error;
  }
  const handle = serviceHandler(service);
  return {
    version,
    handle,
    isReady: () => service.isReady(),
    connections: () => service.database.counts().open,
    reloadSchema: () => service.reloadSchema(),
    reloadConfig: () => service.reloadConfig(),
    endStreams: () => service.endStreams(),
    close: () => service.close(),
  };
}

function checkKeys(name: string, config: Config, dependencies: TenantDependencies): void {
  const conflict = keyConflict(name, config, dependencies);
  if (conflict !== null) throw new Error(conflict);
}

/** Returns why a tenant's keys make it unsafe to serve; null if they do not. */
function keyConflict(
  name: string,
  config: Config,
  { keyOwners }: Pick<TenantDependencies, "keyOwners">,
): string | null {
  const other = keyOwners?.claim(name, config) ?? null;
  return other === null ? null : sharedKeys(name, other);
}

/** Returns the message about two tenants that accept each other's tokens. */
export function sharedKeys(name: string, other: string): string {
  return `tenants ${other} and ${name} share a secret, a key URL or an issuer: set tenant-claim`;
}
