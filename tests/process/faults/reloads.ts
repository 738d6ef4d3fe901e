/** Schema and configuration are read again, every 100 ms at most, while clients read and insert: no
 * request notices. @module */
import { delay } from "../../support/timing/delay.ts";
import type { ServiceProcess } from "../../support/server/process.ts";
import { startLoad } from "./load.ts";
import { openPlace } from "./place.ts";
import { type FaultReport, type Scale, writeProblems } from "./report.ts";

const sizes = { short: { reloads: 20, clients: 8 }, full: { reloads: 300, clients: 16 } } as const;

/** Milliseconds between two reloads at least. */
const period = 100;

const signals = ["SIGUSR1", "SIGUSR2"] as const;

/** Runs the fault. */
export async function reloadUnderLoad(scale: Scale): Promise<FaultReport> {
  const { reloads, clients } = sizes[scale];
  await using place = await openPlace();
  const before = await loads(place.service);
  const load = startLoad({ port: place.port, clients });
  for (let turn = 0; turn < reloads; turn++) {
    await Promise.all([reload(place.service), delay(period)]);
  }
  await load.stop();
  const done = await loads(place.service) - before;
  const writes = await place.asOwner((client) => load.ledger.compare(client));
  return {
    fault: `schema and configuration read again every ${period} ms, ${reloads} times`,
    requests: load.tally.counts,
    writes,
    figures: {
      "schema loads": String(done),
      "99 % within": `${Math.round(load.tally.quantile(0.99))} ms`,
    },
    problems: [
      ...load.tally.problems,
      ...writeProblems(writes),
      ...(done < reloads ? [`only ${done} loads`] : []),
    ],
  };
}

/** Signals both reloads; resolves when the log tells of both. */
async function reload(service: ServiceProcess): Promise<void> {
  const after = service.stderr.all.length;
  for (const signal of signals) service.signal(signal);
  await service.stderr.waitFor(/Schema cache loaded in/, { after });
  await service.stderr.waitFor(/Config reloaded/, { after });
}

/** Successful loads of the schema since the start. */
async function loads(service: ServiceProcess): Promise<number> {
  const text = await (await service.fetchAdmin("GET /metrics")).text();
  return Number(/schema_cache_loads_total\{status="SUCCESS"\} (\d+)/.exec(text)?.[1]);
}
