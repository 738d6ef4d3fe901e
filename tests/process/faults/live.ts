/** Subscribers of live queries at two services, while rows and policies change, connections break, and PostgreSQL
 * and the services restart. At rest each has the rows of its GET. Each message is checked: it has no row that the
 * role may not see, no older state and no half transaction. @module */
import { signToken } from "../../support/handler/token.ts";
import { freePort } from "../../support/server/free_port.ts";
import { withClient } from "../../support/database/postgres_client.ts";
import { type PostgresServer, startPostgres } from "../../support/database/postgres_server.ts";
import type { ServiceProcess } from "../../support/server/process.ts";
import { delay } from "../../support/timing/delay.ts";
import { eventually } from "../../support/timing/eventually.ts";
import { type Random, seededRandom } from "../../support/timing/random.ts";
import { queries } from "./live/queries.ts";
import {
  alteredConditions,
  liveConfig,
  liveTables,
  realms,
  roles,
  subjects,
} from "./live/schema.ts";
import { contentOf, type Identity, Subscriber, type SubscriberCounts } from "./live/subscriber.ts";
import { withLossyClient, writeRandomly } from "./live/writers.ts";
import { password, schema, startOn } from "./place.ts";
import type { FaultReport, Scale } from "./report.ts";

const sizes = {
  short: { subscribers: 20, writes: 400, writers: 2, rounds: 2, disturbances: 6 },
  full: { subscribers: 200, writes: 20_000, writers: 4, rounds: 4, disturbances: 40 },
} as const;

/** Transactions of a round without disturbances. */
const calmWrites = 30;

/** Determines the subscribers, the writes and the disturbances. */
const seed = 33;

/** Runs the fault. */
export async function disturbLiveQueries(scale: Scale): Promise<FaultReport> {
  const { subscribers: count, writes, writers, rounds, disturbances } = sizes[scale];
  await using resources = new AsyncDisposableStack();
  const server = resources.use(await startPostgres({ cluster: "copied" }));
  await withClient(server.uri(), (client) => client.query(schema + liveTables));
  const services = resources.use(await Services.start(server));
  const client = resources.use(Deno.createHttpClient({ poolMaxIdlePerHost: 0 }));
  const random = seededRandom(seed);
  const identities = await signIdentities();
  const problems = new Set<string>();
  const counts: SubscriberCounts = { byStatus: {}, messages: 0, batches: 0, refetches: 0, cuts: 0 };
  const subscribers = Array.from({ length: count }, (_, index) =>
    new Subscriber({
      identity: random.pick(identities),
      query: queries[index % queries.length]!,
      random: seededRandom(seed + index),
      counts,
      problems,
      origin: () => random.pick(services.origins),
      client,
    }));
  const running = subscribers.map((subscriber) => subscriber.run());
  const written = { committed: 0, refused: 0 };
  const kinds = disturbancesOf(server, services, random);
  let longestRest = 0;
  const write = (end: number, seed: number) =>
    Promise.all(Array.from(
      { length: writers },
      (_, index) =>
        writeRandomly(
          server.uri(),
          seededRandom(seed * writers + index),
          written,
          () => written.committed < end,
        ),
    ));
  const rest = async () => {
    const restedAt = performance.now();
    await converge(subscribers, services, problems);
    longestRest = Math.max(longestRest, performance.now() - restedAt);
  };
  for (let round = 0; round < rounds && problems.size === 0; round++) {
    const [begin, end] = [round, round + 1].map((part) => Math.floor(writes * part / rounds));
    const writing = write(end!, round);
    const perRound = disturbances / rounds;
    for (let turn = 0; turn < perRound; turn++) {
      const place = begin! + (end! - begin!) * (turn + 1) / (perRound + 1);
      while (written.committed < place) await delay(5);
      await kinds[(round * perRound + turn) % kinds.length]!();
    }
    await writing;
    await rest();
    // A service that begins anew reads everything: it could not miss a change.
    await write(end! + calmWrites, rounds + round);
    await rest();
  }
  for (const subscriber of subscribers) subscriber.stop();
  // An aborted fetch may wait until the service ends.
  await services[Symbol.asyncDispose]();
  await Promise.all(running);
  const requests = Object.values(counts.byStatus).reduce((a, b) => a + b, 0);
  return {
    fault: "live queries while policies change, and PostgreSQL and services restart",
    requests: { sent: requests, answered: requests, byStatus: counts.byStatus },
    writes: null,
    figures: {
      subscribers: String(count),
      "transactions": String(written.committed),
      "disturbances": String(disturbances),
      "messages": String(counts.messages),
      "batches": String(counts.batches),
      "cut connections": String(counts.cuts),
      "refetches": String(counts.refetches),
      "equal to GET after at most": `${(longestRest / 1000).toFixed(1)} s`,
    },
    problems: [...problems],
  };
}

async function signIdentities(): Promise<readonly Identity[]> {
  const all = roles.flatMap((role) =>
    subjects.flatMap((sub) => realms.map((realm) => ({ role, sub, realm })))
  );
  return await Promise.all(
    all.map(async (claims) => ({ ...claims, token: await signToken(claims) })),
  );
}

/** Waits until each subscriber has the rows of its GET. */
async function converge(
  subscribers: readonly Subscriber[],
  services: Services,
  problems: Set<string>,
): Promise<void> {
  const expected = new Map<Subscriber, string>();
  for (const subscriber of subscribers) {
    const { path, options: { identity: { token } } } = subscriber;
    const headers = { Authorization: `Bearer ${token}` };
    await eventually(`200 for ${path}`, async () => {
      const response = await fetch(`${services.origins[0]}${path}`, { headers });
      const rows = await response.json();
      if (response.ok) expected.set(subscriber, contentOf(rows));
      return response.ok;
    });
  }
  const late = () => subscribers.filter((each) => each.content() !== expected.get(each));
  await eventually("all subscribers have their rows", () => late().length === 0).catch(() => {});
  for (const each of late()) {
    problems.add(`${each.name} has ${each.content()}, GET has ${expected.get(each)}`);
  }
}

/** Two services on one database, which keep their ports when they restart. */
class Services implements AsyncDisposable {
  readonly origins: readonly string[];
  readonly #start: (index: number) => Promise<ServiceProcess>;
  readonly #services: ServiceProcess[];

  private constructor(start: (index: number) => Promise<ServiceProcess>, both: ServiceProcess[]) {
    this.#start = start;
    this.#services = both;
    this.origins = both.map(({ origin }) => origin);
  }

  static async start(server: PostgresServer): Promise<Services> {
    const ports = [freePort(), freePort()];
    const uri = server.uri({ user: "authenticator", password });
    const start = (index: number) => startOn(uri, { ...liveConfig, "server-port": ports[index]! });
    return new Services(start, [await start(0), await start(1)]);
  }

  async restart(index: number, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    await this.#services[index]!.stop(signal);
    await this.#services[index]![Symbol.asyncDispose]();
    this.#services[index] = await this.#start(index);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const service of this.#services.splice(0)) await service[Symbol.asyncDispose]();
  }
}

/** Lists the disturbances in turn. */
function disturbancesOf(
  server: PostgresServer,
  services: Services,
  random: Random,
): readonly (() => Promise<unknown>)[] {
  return [
    // No trigger records a policy: the services reload.
    () =>
      onServer(
        server,
        `alter policy altered on api.items using (${random.pick(alteredConditions)});
         notify svc, 'reload schema'`,
      ),
    () => services.restart(random.below(2), "SIGTERM"),
    () =>
      onServer(
        server,
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator'",
      ),
    async () => {
      await server.halt(random.pick(["fast", "immediate"]));
      await delay(random.below(500));
      await server.resume();
    },
    () => services.restart(random.below(2), "SIGKILL"),
    () => crash(server),
  ];
}

/** Kills one process of PostgreSQL, so that all others end and unlogged tables become empty. */
async function crash(server: PostgresServer): Promise<void> {
  const sessions = "select pid from pg_stat_activity where usename = 'authenticator' limit 1";
  const [{ pid } = {}] = await onServer(server, sessions);
  if (pid !== undefined) await new Deno.Command("kill", { args: ["-9", String(pid)] }).output();
  await onServer(server, "select 1");
}

/** Returns the rows of a statement, which is sent again while PostgreSQL recovers. */
async function onServer(
  server: PostgresServer,
  sql: string,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  let rows: readonly Readonly<Record<string, unknown>>[] = [];
  const send = () =>
    withLossyClient(server.uri(), async (client) => {
      ({ rows = [] } = await client.query(sql));
    });
  await eventually("PostgreSQL is back", () => send().then(() => true, () => false));
  return rows;
}
