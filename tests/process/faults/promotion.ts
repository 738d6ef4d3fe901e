/** The primary dies and its standby is promoted, while clients read from the standby and others
 * read from and insert into whichever server takes writes. Commits wait for the standby, so that
 * none is lost with the primary. @module */
import type { PostgresClient } from "../../support/database/postgres_client.ts";
import { withClient } from "../../support/database/postgres_client.ts";
import { type PostgresServer, startPostgres } from "../../support/database/postgres_server.ts";
import { Ledger } from "./ledger.ts";
import { type Books, read, startLoad } from "./load.ts";
import { password, portOf, schema, startOn } from "./place.ts";
import { addRequests, type FaultReport, type Scale, writeProblems } from "./report.ts";
import { Tally } from "./tally.ts";

const sizes = {
  short: { clients: 4, answers: 200 },
  full: { clients: 16, answers: 5000 },
} as const;

/** Runs the fault. */
export async function promoteStandby(scale: Scale): Promise<FaultReport> {
  const { clients, answers } = sizes[scale];
  await using primary = await startPostgres({ cluster: "copied" });
  await withClient(primary.uri(), (client) => client.query(schema));
  await using standby = await startPostgres({ standbyOf: primary });
  await withClient(primary.uri(), waitForStandby);
  const at = (session: string) => bothHosts([primary, standby], session);
  await using reading = await startOn(at("prefer-standby"));
  await using writing = await startOn(at("read-write"));
  const ledger = new Ledger();
  const fromStandby: Books = { tally: new Tally(), ledger };
  const toPrimary: Books = {
    tally: new Tally((status, code) => status === 503 && isAway.has(code)),
    ledger,
  };
  const reads = startLoad({ port: portOf(reading), clients, books: fromStandby, turns: [read] });
  const writes = startLoad({ port: portOf(writing), clients, books: toPrimary });
  await Promise.all([reads.progress(answers), writes.progress(answers)]);
  await primary.halt("immediate");
  const began = performance.now();
  await standby.promote();
  await writes.progress(1);
  const took = performance.now() - began;
  await Promise.all([reads.progress(answers), writes.progress(answers)]);
  await Promise.all([reads.stop(), writes.stop()]);
  const rows = await withClient(standby.uri(), (client) => ledger.compare(client));
  return {
    fault: "primary killed, standby promoted",
    requests: addRequests(fromStandby.tally.counts, toPrimary.tally.counts),
    writes: rows,
    figures: { "writes again after": `${Math.round(took)} ms` },
    problems: [...fromStandby.tally.problems, ...toPrimary.tally.problems, ...writeProblems(rows)],
  };
}

/** No server that takes writes; a broken connection. */
const isAway: ReadonlySet<string> = new Set(["SVC000", "SVC001"]);

/** From now on a commit is answered when the standby shows it. */
async function waitForStandby(client: PostgresClient): Promise<void> {
  const streaming = "select 1 from pg_stat_replication where state = 'streaming'";
  while ((await client.query(streaming)).rows.length === 0) {
    await client.query("select pg_sleep(0.01)");
  }
  await client.query("alter system set synchronous_standby_names = '*'");
  await client.query("alter system set synchronous_commit = remote_apply");
  await client.query("select pg_reload_conf()");
}

/** `postgres://user:password@h:p1,h:p2/db?target_session_attrs=…` */
function bothHosts(servers: readonly PostgresServer[], session: string): string {
  const login = new URL(servers[0]!.uri({ user: "authenticator", password }));
  const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(",");
  return `postgres://${login.username}:${login.password}@${hosts}${login.pathname}` +
    `?target_session_attrs=${session}`;
}
