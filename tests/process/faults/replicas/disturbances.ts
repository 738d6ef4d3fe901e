/** What happens to the primary and its standbys while clients write and read. @module */
import type { PostgresCluster } from "../../../support/database/postgres_cluster.ts";
import type { PostgresServer } from "../../../support/database/postgres_server.ts";
import type { Random } from "../../../support/timing/random.ts";
import type { RunningPairs } from "./clients.ts";

/** What a disturbance acts on. */
export interface DisturbedCluster {
  readonly cluster: PostgresCluster;
  readonly running: RunningPairs;
  readonly random: Random;
  /** Pairs that the clients complete between disturbances. */
  readonly pairs: number;
}

/** Does one thing to the servers, and leaves all of them running. */
type Disturbance = (disturbed: DisturbedCluster) => Promise<void>;

/** Longest delay of replay, in milliseconds. */
const maxDelayMs = 500;

/** Writes of each service until it has no connection left to a server that is gone. */
const writesAfterReturn = 10;

const delayOne: Disturbance = async ({ cluster, random }) => {
  await cluster.delayReplay(random.pick(cluster.standbys), random.below(maxDelayMs + 1));
};

const endDelays: Disturbance = async ({ cluster }) => {
  await Promise.all(cluster.standbys.map((standby) => cluster.delayReplay(standby, 0)));
};

const pauseOne: Disturbance = (disturbed) =>
  pauseReplay(disturbed, [disturbed.random.pick(disturbed.cluster.standbys)]);

const pauseAll: Disturbance = (disturbed) => pauseReplay(disturbed, disturbed.cluster.standbys);

async function pauseReplay(
  { cluster, running, pairs }: DisturbedCluster,
  standbys: readonly PostgresServer[],
): Promise<void> {
  for (const standby of standbys) await cluster.pauseReplay(standby);
  await running.progress(pairs);
  for (const standby of standbys) await cluster.resumeReplay(standby);
}

const stopOne: Disturbance = (disturbed) => stopStandby(disturbed, (server) => server.halt("fast"));

const killOne: Disturbance = (disturbed) => stopStandby(disturbed, (server) => server.kill());

async function stopStandby(
  { cluster, running, random, pairs }: DisturbedCluster,
  stop: (server: PostgresServer) => Promise<void>,
): Promise<void> {
  const standby = random.pick(cluster.standbys);
  await stop(standby);
  await running.progress(pairs);
  await standby.resume();
  await cluster.received();
}

const restartPrimary: Disturbance = (disturbed) =>
  withoutPrimary(disturbed, async ({ primary }) => {
    await primary.halt("immediate");
    await disturbed.running.failures(1);
    await primary.resume();
  });

const promoteOne: Disturbance = (disturbed) =>
  withoutPrimary(disturbed, async (cluster) => {
    await cluster.primary.kill();
    await disturbed.running.failures(1);
    const former = await cluster.promote(await cluster.mostAdvanced());
    await disturbed.running.progress(1);
    await cluster.rejoin(former);
    await cluster.received();
    await cluster.synchronize();
  });

/** 503 is allowed until each service has found the primary again. */
async function withoutPrimary(
  { cluster, running }: DisturbedCluster,
  disturb: (cluster: PostgresCluster) => Promise<void>,
): Promise<void> {
  running.isPrimaryAway = true;
  await disturb(cluster);
  await running.writes(writesAfterReturn);
  running.isPrimaryAway = false;
}

/** All disturbances by name, in the order of a round. */
const disturbances: readonly (readonly [name: string, disturbance: Disturbance])[] = [
  ["delays set", delayOne],
  ["standbys paused", pauseOne],
  ["standbys killed", killOne],
  ["delays set", delayOne],
  ["primaries killed, standbys promoted", promoteOne],
  ["delays set", delayOne],
  ["standbys stopped", stopOne],
  ["both standbys paused", pauseAll],
  ["delays set", delayOne],
  ["primaries stopped", restartPrimary],
  ["delays ended", endDelays],
];

/** Disturbs round by round while `mayContinue` says so; returns how often each thing happened. */
export async function disturbReplicas(
  disturbed: DisturbedCluster,
  mayContinue: () => boolean,
): Promise<Readonly<Record<string, string>>> {
  const counts: Record<string, number> = {};
  for (let turn = 0; turn < disturbances.length || mayContinue(); turn++) {
    await disturbed.running.progress(disturbed.pairs);
    const [name, disturbance] = disturbances[turn % disturbances.length]!;
    await disturbance(disturbed);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, String(count)]));
}
