/** One tenant: its service with its own database, keys and caches. @module */
import type { TenantRule } from "../auth/tenant_rule.ts";
import { openConfiguredDatabase } from "../cli/config_files.ts";
import { noValues } from "../config/load.ts";
import type { Config } from "../config/options.ts";
import { isEmbedded } from "../database/open.ts";
import { errorFacts } from "../errors/error_response.ts";
import { agentsOf } from "../agents/mcp_host.ts";
import { liveOf } from "../live/live_host.ts";
import { serviceHandler } from "../handler/handler.ts";
import type { Observation } from "../observe/observation.ts";
import type { RequestMetrics } from "../observe/request_metrics.ts";
import { Service } from "../service/service.ts";
import type { ServiceOptions } from "../service/service_options.ts";
import { tenantConfigSource, type TenantDefinition } from "./tenant_config.ts";
import type { LoadedTenant, OpeningTenant } from "./tenant_registry.ts";

/** Dependencies that all tenants of a process share. */
export interface TenantDependencies {
  /** Configuration of the process. */
  readonly config: () => Config;
  /** Returns a tenant's definition; null for an unknown one. */
  readonly read: (name: string) => TenantDefinition | null;
  /** Returns the names of all tenants. */
  readonly names: () => readonly string[];
  readonly claimOf: TenantRule["claimOf"];
  readonly requestMetrics: RequestMetrics | null;
  readonly observe: (event: Observation) => void;
  readonly tracing: Pick<ServiceOptions, "activeSpan" | "setSpanAttribute" | "traceStage">;
}

/**
 * Loads a tenant; null for an unknown one. Rejects with an `Error` of one line if it cannot be served.
 * Calls `onFailed` if that happens later. An embedded database runs in the thread of all tenants, so that
 * its tenant must be the only one.
 */
export async function openTenant(
  name: string,
  dependencies: TenantDependencies,
  { onFailed, signal }: OpeningTenant,
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
  if (isEmbedded(config.dbUri) && dependencies.names().length > 1) {
    throw new Error("db-uri: an embedded database cannot serve a tenant beside others");
  }
  const database = await openConfiguredDatabase(config, definition.file.path);
  const abort = () => void database.close();
  signal.addEventListener("abort", abort);
  let failure: string | null = null;
  let isLoaded = false;
  const fail = (reason: string) => {
    failure ??= reason;
    if (isLoaded) onFailed(reason);
  };
  try {
    const onFatal = () => fail("its service has ended");
    const options = serviceOptions(name, dependencies);
    const service = await Service.create({ ...options, source, initialSource, database, onFatal });
    const tenant = await load(service, { version: definition.version, failure: () => failure });
    isLoaded = true;
    return tenant;
  } catch (error) {
    await database.close();
    throw error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function serviceOptions(
  name: string,
  { observe, claimOf, tracing, requestMetrics }: TenantDependencies,
) {
  return {
    now: Date.now,
    observe: (event: Observation) =>
      observe(event.kind === "request-finished" ? event : { ...event, tenant: name }),
    missingCacheDetail: "none",
    tenant: { name, claimOf },
    ...tracing,
    ...requestMetrics === null ? {} : { requestMetrics },
  } as const;
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
  const handle = serviceHandler(service, "shared", agentsOf(service), liveOf(service));
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
