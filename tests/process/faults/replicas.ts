/**
 * Clients write a row and read it back with its bookmark, through two services, while standbys lag,
 * stop, are killed and start again, and the primary is killed and a standby promoted. An answer must be
 * neither older than the client's own write nor older than an answer that the client has seen.
 *
 * Commits wait until one of the standbys has stored them, and the standby that has received most is
 * promoted, so that no acknowledged row is lost with the primary.
 *
 * @module
 */
import { PostgresCluster } from "../../support/database/postgres_cluster.ts";
import { withClient } from "../../support/database/postgres_client.ts";
import { seededRandom } from "../../support/timing/random.ts";
import type { ServiceProcess } from "../../support/server/process.ts";
import { password, portOf, schema, startOn } from "./place.ts";
import { startPairs } from "./replicas/clients.ts";
import { disturbReplicas } from "./replicas/disturbances.ts";
import { replicaMetrics } from "./replicas/metrics.ts";
import { type FaultReport, type Scale, writeProblems } from "./report.ts";

const sizes = {
  short: { clients: 8, pairs: 300, pairsBetween: 15 },
  full: { clients: 32, pairs: 110_000, pairsBetween: 600 },
} as const;

/** Determines the order of the disturbances. */
const seed = 27;

/** Each read says which server executed it, and the newest row that it saw. */
const views = `
  create index on api.marks (mark);
  create view api.seen as
    select mark, (select max(mark) from api.marks) as latest,
      inet_server_port() as port, current_setting('in_hot_standby') = 'on' as standby
    from api.marks;
  create view api.latest as
    select max(mark) as latest, inet_server_port() as port, current_setting('in_hot_standby') = 'on' as standby
    from api.marks;
  grant select on api.seen, api.latest to anon;
`;

/** Runs the fault. */
export async function disturbStandbys(scale: Scale): Promise<FaultReport> {
  const { clients, pairs, pairsBetween } = sizes[scale];
  await using cluster = await PostgresCluster.start({ standbys: 2, sql: schema + views });
  await cluster.synchronize();
  await using first = await startReading(cluster);
  await using second = await startReading(cluster);
  const services = [first, second];
  const running = startPairs({ ports: services.map(portOf), clients });
  const disturbances = await disturbReplicas(
    { cluster, running, random: seededRandom(seed), pairs: pairsBetween },
    () => running.counts.pairs < pairs,
  );
  await running.progress(pairsBetween);
  await running.stop();
  const writes = await withClient(
    cluster.primary.uri(),
    (client) => running.ledger.compare(client),
  );
  return {
    fault: "standbys lag, stop, die and are promoted",
    requests: running.tally.counts,
    writes,
    figures: { ...running.figures(), ...disturbances, ...await replicaMetrics(services) },
    problems: [...running.tally.problems, ...writeProblems(writes)],
  };
}

/** Starts a service that finds the primary and the standbys among all hosts. */
function startReading(cluster: PostgresCluster): Promise<ServiceProcess> {
  const hosts = cluster.uri([cluster.primary, ...cluster.standbys], {
    user: "authenticator",
    password,
  });
  return startOn(`${hosts}?target_session_attrs=read-write`, { "db-replica-uri": hosts });
}
