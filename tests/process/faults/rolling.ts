/** Three services behind HAProxy are replaced one after the other while clients read and insert:
 * each gets SIGTERM, ends after `server-shutdown-wait-period`, and a new one starts at the same
 * port. HAProxy runs with the example of `examples/deploy`. @module */
import { delay } from "../../support/timing/delay.ts";
import { eventually } from "../../support/timing/eventually.ts";
import { freePort } from "../../support/server/free_port.ts";
import {
  exampleServers,
  findHaproxy,
  type Haproxy,
  type ServerPorts,
  type ServerState,
  startHaproxy,
} from "../../support/database/haproxy.ts";
import { withClient } from "../../support/database/postgres_client.ts";
import { startPostgres } from "../../support/database/postgres_server.ts";
import type { ServiceProcess } from "../../support/server/process.ts";
import { seededRandom } from "../../support/timing/random.ts";
import { type Load, readsAndInserts, startLoad, type Turn } from "./load.ts";
import { password, schema, startOn } from "./place.ts";
import { type FaultReport, type Scale, writeProblems } from "./report.ts";

/** `wait` is `server-shutdown-wait-period`, `interval` the time between two checks of HAProxy. */
const sizes = {
  short: { rolls: 3, clients: 6, answersBetween: 50, interval: "100ms", wait: "500ms" },
  full: { rolls: 100, clients: 24, answersBetween: 300, interval: "100ms", wait: "500ms" },
} as const;

/** Runs the fault. Rejects where HAProxy is not installed. */
export async function upgradeRolling(scale: Scale): Promise<FaultReport> {
  const program = findHaproxy();
  if (program === null) throw new Error("HAProxy is not installed");
  const { rolls, clients, answersBetween, interval, wait } = sizes[scale];
  await using resources = new AsyncDisposableStack();
  const server = resources.use(await startPostgres({ cluster: "copied" }));
  await withClient(server.uri(), (client) => client.query(schema));
  const start = (ports: ServerPorts) =>
    startOn(server.uri({ user: "authenticator", password }), {
      "server-port": ports.api,
      "admin-server-port": ports.admin,
      "server-shutdown-wait-period": wait,
    });
  const instances = await Promise.all(
    exampleServers().map(async (name) => {
      const ports = { api: freePort(), admin: freePort() };
      return resources.use(new Instance(name, ports, await start(ports)));
    }),
  );
  const proxy = resources.use(
    await startHaproxy(program, {
      servers: new Map(instances.map(({ name, ports }) => [name, ports])),
      checkInterval: interval,
    }),
  );
  const load = startLoad({ port: proxy.port, clients });
  const { tally, ledger } = load;
  const calm = startLoad({ port: proxy.port, clients, books: load, turns: turnsWithPauses() });
  for (let roll = 0; roll < rolls; roll++) {
    await replace(instances[roll % instances.length]!, { start, proxy, load, answersBetween });
  }
  await load.progress(answersBetween);
  await Promise.all([load.stop(), calm.stop()]);
  const writes = await withClient(server.uri(), (client) => ledger.compare(client));
  return {
    fault: `rolling upgrade of ${instances.length} services behind HAProxy, ${rolls} replaced`,
    requests: tally.counts,
    writes,
    figures: {
      "shutdown wait period": wait,
      "check interval": interval,
      "99 % within": `${Math.round(tally.quantile(0.99))} ms`,
      "slowest": `${Math.round(tally.quantile(1))} ms`,
    },
    problems: [...tally.problems, ...writeProblems(writes)],
  };
}

/** Limit of the pause of a client before a request. */
const maxPauseMs = 100;

/** Clients that pause leave idle connections between HAProxy and the services. */
function turnsWithPauses(): readonly Turn[] {
  const random = seededRandom(27);
  return readsAndInserts.map((turn): Turn => async (connection, books) => {
    await delay(random.below(maxPauseMs));
    return await turn(connection, books);
  });
}

/** One server of the backend: the service that runs at its ports now. */
class Instance implements AsyncDisposable {
  constructor(readonly name: string, readonly ports: ServerPorts, public service: ServiceProcess) {}

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.service[Symbol.asyncDispose]();
  }
}

interface Replacement {
  readonly start: (ports: ServerPorts) => Promise<ServiceProcess>;
  readonly proxy: Haproxy;
  readonly load: Load;
  readonly answersBetween: number;
}

/** Replaces a service that is at work, and waits until HAProxy sends requests to the new one. */
async function replace(
  instance: Instance,
  { start, proxy, load, answersBetween }: Replacement,
): Promise<void> {
  const state = async (): Promise<ServerState> => (await proxy.servers()).get(instance.name)!;
  await load.progress(answersBetween);
  const { requests } = await state();
  await eventually("requests reach the service", async () => (await state()).requests > requests);
  const { code } = await instance.service.stop();
  if (code !== 0) load.tally.problem(`exit status ${code}`);
  await instance.service[Symbol.asyncDispose]();
  instance.service = await start(instance.ports);
  await eventually("HAProxy uses the new service", async () => (await state()).status === "UP");
}
