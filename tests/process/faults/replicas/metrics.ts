/** Adds up what services count of their standbys. @module */
import type { ServiceProcess } from "../../../support/server/process.ts";

/** Returns the counters `svc_replica_…_total` of all services, by name and labels but the host. */
export async function replicaMetrics(
  services: readonly ServiceProcess[],
): Promise<Readonly<Record<string, string>>> {
  const sums = new Map<string, number>();
  for (const service of services) {
    const text = await (await service.fetchAdmin("GET /metrics")).text();
    for (const [, name, value] of text.matchAll(/^(svc_replica\w*_total(?:\{[^}]*\})?) (\S+)$/gm)) {
      const key = name!.replace(/host="[^"]*",?/, "").replace("{}", "");
      sums.set(key, (sums.get(key) ?? 0) + Number(value));
    }
  }
  return Object.fromEntries([...sums].map(([name, value]) => [name, String(value)]));
}
