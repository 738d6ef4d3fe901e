/** The servers of every measurement: a PostgreSQL server, the service and its peer. @module */
import { withClient } from "../../tests/support/database/postgres_client.ts";
import {
  type PostgresServer,
  startPostgres,
} from "../../tests/support/database/postgres_server.ts";
import type { FileConfig } from "../../tests/support/server/process.ts";
import { quietSettings, serverConfig } from "./fixture.ts";
import { postmasterOf } from "./measure.ts";
import type { BenchOptions } from "./options.ts";
import { type BenchServer, ownCommand, startServer } from "./servers.ts";

/** A PostgreSQL server for a benchmark, and the options of the benchmark. */
export interface Bench extends AsyncDisposable {
  readonly options: BenchOptions;
  readonly postgres: PostgresServer;
  /** Process identifier of the server's first process. */
  readonly postmaster: number;
}

/** Starts PostgreSQL. */
export async function startBench(options: BenchOptions): Promise<Bench> {
  progress("Starting PostgreSQL...");
  const postgres = await startPostgres({ settings: quietSettings });
  return {
    options,
    postgres,
    postmaster: await postmasterOf(postgres.folder),
    [Symbol.asyncDispose]: () => postgres.stop(),
  };
}

/** Runs SQL text as the superuser. */
export async function runSql(
  { postgres }: Pick<Bench, "postgres">,
  sql: string,
  database = "postgres",
): Promise<void> {
  await withClient(postgres.uri({ database }), (client) => client.query(sql));
}

/** Waits until PostgreSQL has finished the statements of all other connections. */
export async function untilIdle({ postgres }: Pick<Bench, "postgres">): Promise<void> {
  await withClient(postgres.uri(), (client) => client.query(waitForOthers));
}

/** Commits in the loop, because a transaction reads `pg_stat_activity` only once. */
const waitForOthers = `do $$ begin
  while exists (
    select from pg_stat_activity
    where state <> 'idle' and backend_type = 'client backend' and pid <> pg_backend_pid()
  ) loop
    perform pg_sleep(0.02);
    commit;
  end loop;
end $$`;

/** Waits. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Writes progress, in addition to the results. */
export function progress(text: string): void {
  console.error(text);
}

/** Servers that are measured in turn. Disposing of them stops them. */
export interface Servers extends AsyncDisposable {
  readonly all: readonly BenchServer[];
}

/** Starts the service, and the peer if the options name one. Both get the options in `further`. */
export async function startServers(
  { options, postgres }: Bench,
  further: FileConfig = {},
): Promise<Servers> {
  await using resources = new AsyncDisposableStack();
  const commands = [["service", ownCommand], ["peer", options.peer]] as const;
  const all: BenchServer[] = [];
  for (const [name, command] of commands) {
    if (command === null) continue;
    progress(`Starting the ${name}...`);
    const config = { ...serverConfig(postgres), ...further };
    all.push(resources.use(await startServer(name, command, { config })));
  }
  const owned = resources.move();
  return { all, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
