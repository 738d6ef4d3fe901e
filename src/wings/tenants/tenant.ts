/** One tenant: its service with a separate database, keys and caches. It is configured by its file,
 * with defaults from the configuration of the process. @module */
import type { TenantRule } from "../../state/auth/claims.ts";
import {
  openConfiguredDatabase,
  readEnvironment,
  withPaths,
} from "../../state/config/config_files.ts";
import type { ConfigFile } from "../../state/config/file.ts";
import { noValues } from "../../state/config/load.ts";
import { dialectVariable } from "../../state/config/names.ts";
import type { Config, OptionRows } from "../../state/config/options.ts";
import type { TenantConfig } from "./tenant_options.ts";
import { type ConfigSource, configSource } from "../../state/config/source.ts";
import { isEmbedded } from "../../database/open.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import type { Wing } from "../../api/wing.ts";
import { serviceHandler } from "../../api/handler/handler.ts";
import type { Observation } from "../../base/observe/observation.ts";
import type { RequestMetrics } from "../../base/observe/request_metrics.ts";
import { addressOf } from "../../api/response/openapi/about.ts";
import { AppState } from "../../state/app_state/app_state.ts";
import type { AppStateOptions } from "../../state/app_state/app_state_options.ts";
import type { LoadedTenant, OpeningTenant } from "./tenant_registry.ts";
import { readBytes, relativeTo } from "../../base/lib/files.ts";

/** Dependencies that all tenants share. */
export interface TenantDependencies {
  /** Configuration of the process. */
  readonly config: () => TenantConfig;
  readonly source: {
    /** Returns the names of all tenants. */
    names(): readonly string[];
    /** Returns a tenant's file; null if the tenant is unknown. */
    read(name: string): ConfigFile | null;
  };
  readonly claimOf: TenantRule["claimOf"];
  /** Wings that answer some paths of requests. */
  readonly wings: readonly Wing[];
  readonly requestMetrics: RequestMetrics | null;
  readonly observe: (event: Observation) => void;
  readonly tracing: Pick<AppStateOptions, "activeSpan" | "setSpanAttribute" | "traceStage">;
}

/**
 * Loads a tenant; null if it is unknown. Rejects with an `Error` of one line if the tenant cannot
 * be served. Calls `onFailed` if its service ends later. A tenant with an embedded database must
 * be the only one, because the database runs in the thread of all tenants.
 */
export async function openTenant(
  name: string,
  dependencies: TenantDependencies,
  { onFailed, signal }: OpeningTenant,
): Promise<LoadedTenant | null> {
  const file = dependencies.source.read(name);
  if (file === null) return null;
  const sourceOf = (current: typeof file | null) => {
    if (current === null) throw new Error("the tenant was removed");
    return tenantConfigSource(name, current, dependencies.config());
  };
  const source = () => sourceOf(dependencies.source.read(name));
  const config = sourceOf(file).configure(noValues);
  if (isEmbedded(config.dbUri) && dependencies.source.names().length > 1) {
    throw new Error("db-uri: an embedded database cannot serve a tenant beside others");
  }
  const database = await openConfiguredDatabase(config, file.path);
  const abort = () => void database.close();
  signal.addEventListener("abort", abort);
  let failure: string | null = null;
  const onFatal = () => {
    failure = "its service has ended";
    onFailed(failure);
  };
  try {
    const options = serviceOptions(name, dependencies);
    const appState = await AppState.create({ ...options, source, database, onFatal });
    await load(appState, () => failure);
    return {
      handle: serviceHandler(appState, "shared", dependencies.wings),
      appState,
      connections: () => database.counts().open,
    };
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

/** Loads the schema cache. If the load fails, closes the service and rejects with an `Error`. */
async function load(appState: AppState, failure: () => string | null): Promise<void> {
  try {
    await appState.database.embedded?.start();
    appState.listen();
    await appState.reloadSchema();
    const { cache, cacheError } = appState.snapshot;
    const members = cacheError === null ? null : errorMembers(cacheError, appState.dialect);
    const missing = cache === null ? members?.message ?? "its schema cache cannot be loaded" : null;
    const reason = failure() ?? missing;
    if (reason !== null) throw new Error(reason);
  } catch (error) {
    await appState.close();
    throw error;
  }
}

/** Options that a tenant must not set, in addition to options of the server. */
const keysOfProcess = /^(?:admin-|log-|metrics-|tenants?(?:-|$))/;

const moreKeysOfProcess: ReadonlySet<string> = new Set([
  "dialect",
  "server-max-requests",
  "server-trusted-proxies",
]);

/** Returns why a tenant must not set an option; null if it may. */
function refusalOf([key, { reloadable }]: OptionRows[number]): string | null {
  const isOfServer = key.startsWith("server-") && !reloadable;
  const isOfProcess = isOfServer || keysOfProcess.test(key) || moreKeysOfProcess.has(key);
  return isOfProcess ? "belongs to the process, not to a tenant" : null;
}

export function tenantConfigSource(
  name: string,
  file: ConfigFile,
  processConfig: TenantConfig,
): ConfigSource {
  const source = configSource({
    file,
    environment: otherVariables(processConfig),
    readFile: (path) => readBytes(relativeTo(file.path, path)).content,
    programmatic: { dialect: processConfig.dialect },
    defaults: defaultsOf(processConfig),
    refuse: refusalOf,
    wingOptions: processConfig.wingOptions,
  });
  return {
    ...source,
    configure: (values) =>
      tenantConfig(name, withPaths(source.configure(values), file.path), processConfig),
  };
}

/** Returns the environment without variables of options, because these configure the process. */
function otherVariables({ dialect }: Config): Readonly<Record<string, string>> {
  const isOption = (name: string) =>
    name.startsWith(`${dialect.environmentPrefix}_`) || name === dialectVariable;
  return Object.fromEntries(
    Object.entries(readEnvironment()).filter(([name]) => !isOption(name)),
  );
}

/** Returns the options of the process that are defaults for a tenant. */
function defaultsOf(processConfig: Config): Partial<Config> {
  const { dbUri, dbSchemas, ...others } = processConfig;
  return {
    ...others,
    ...(dbUri === "" ? {} : { dbUri }),
    ...(dbSchemas.length === 0 ? {} : { dbSchemas }),
  };
}

/** Returns a tenant's configuration with the limits of the process, and without a health path. */
function tenantConfig(name: string, config: Config, processConfig: TenantConfig): Config {
  return {
    ...config,
    dbPool: poolShareOf(processConfig),
    serverMaxRequests: processConfig.tenantMaxRequests,
    serverHealthPath: null,
    openapiServerProxyUri: documentedAddress(name, config, processConfig),
  };
}

export function poolShareOf({ tenantsDbPool, tenantsMaxLoaded }: TenantConfig): number {
  return Math.floor(tenantsDbPool / tenantsMaxLoaded);
}

/** Returns the tenant's address for OpenAPI. The option of the process lacks its part of the path. */
function documentedAddress(
  name: string,
  config: Config,
  processConfig: TenantConfig,
): string | null {
  const isOwn = config.openapiServerProxyUri !== processConfig.openapiServerProxyUri;
  if (isOwn || processConfig.tenantBy !== "path") return config.openapiServerProxyUri;
  const { scheme, host, basePath } = addressOf(processConfig);
  return `${scheme}://${host}${basePath.replace(/\/$/, "")}/${name}`;
}
