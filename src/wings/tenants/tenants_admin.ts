/** The admin server of a process with tenants. @module */
import type { HostAdminOptions } from "../../api/wing.ts";
import type { Config } from "../../state/config/options.ts";
import { redactedConfig } from "../../state/config/print.ts";
import type { MetricRegistry } from "../../base/observe/metric_registry.ts";
import type { RequestMetrics } from "../../base/observe/request_metrics.ts";
import type { TenantRegistry } from "./tenant_registry.ts";
import {
  emptyResponse,
  guarded,
  type GuardedRoute,
  open,
  textResponse,
} from "../../base/http/admin_route.ts";

export interface TenantsAdminOptions extends HostAdminOptions {
  /** Configuration of the process. */
  readonly config: () => Config;
  readonly registry: Pick<TenantRegistry, "isReady" | "states">;
  readonly names: () => readonly string[];
  readonly isReady: () => Promise<boolean>;
  readonly metricRegistry: MetricRegistry;
  readonly requestMetrics: RequestMetrics;
}

/** Returns the routes: `/live`, `/ready`, `/metrics`, `/tenants` and `/config`. */
export function tenantsAdmin(options: TenantsAdminOptions): ReadonlyMap<string, GuardedRoute> {
  const { config, isLive } = options;
  const { dialect } = config();
  const serving = () => isLive() ? 200 : dialect.notServingStatus;
  const readyResponse = async (request: Request) =>
    emptyResponse(await readyStatus(request, { options, serving }));
  return new Map([
    ["/live", open(() => emptyResponse(serving()))],
    ["/ready", open(readyResponse)],
    ["/metrics", open(() => textResponse(metricsText(options)))],
    ["/tenants", guarded(() => tenantsResponse(options))],
    ["/config", guarded(() => textResponse(redactedConfig(config())))],
  ]);
}

async function readyStatus(
  request: Request,
  { options: { registry, isReady }, serving }: {
    readonly options: TenantsAdminOptions;
    readonly serving: () => number;
  },
): Promise<number> {
  const name = new URL(request.url).searchParams.get("tenant");
  if (name === null) return await isReady() ? serving() : 503;
  const isTenantReady = await registry.isReady(name);
  return isTenantReady === null ? 404 : isTenantReady ? serving() : 503;
}

/** Lists all tenants by name. */
function tenantsResponse({ registry, names }: TenantsAdminOptions): Response {
  const states = new Map(registry.states().map((state) => [state.name, state]));
  const unloaded = { state: "unloaded", connections: 0, requests: 0 };
  const list = names().map((name) => states.get(name) ?? { name, ...unloaded });
  return textResponse(JSON.stringify(list), { type: "application/json; charset=utf-8" });
}

function metricsText(
  { config, metricRegistry, requestMetrics, processMetrics }: TenantsAdminOptions,
): string {
  const { settingPrefix } = config().dialect;
  return metricRegistry.text(settingPrefix) + requestMetrics.text() + processMetrics();
}
