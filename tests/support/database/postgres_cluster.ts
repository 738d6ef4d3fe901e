/**
 * Starts a primary with standbys that follow it by streaming replication, and disturbs them: replay is
 * paused or delayed, servers stop, are killed and start again, and a standby is promoted.
 *
 * ```ts ignore
 * await using cluster = await PostgresCluster.start({ standbys: 2, sql: "create table …" });
 * const [first, second] = cluster.standbys;
 * await cluster.pauseReplay(first!);
 * ```
 *
 * @module
 */
import { eventually } from "../timing/eventually.ts";
import type { GuardedFolder } from "../runner/guarded_folder.ts";
import { postgresBinaries } from "./postgres_binaries.ts";
import { withClient } from "./postgres_client.ts";
import {
  type ConnectionTarget,
  type PostgresServer,
  serverFolder,
  startPostgres,
} from "./postgres_server.ts";

export interface ClusterOptions {
  readonly standbys: number;
  /** Runs on the primary before the standbys copy it. Default: nothing. */
  readonly sql?: string;
  /** Settings of all servers in addition to the defaults. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * A standby that was stopped finds all it needs in the primary's WAL folder, and asks for it at
 * once. The short times keep a walsender or walreceiver of a dead server from delaying the other
 * servers.
 */
const clusterSettings: Readonly<Record<string, string>> = {
  wal_keep_size: "1GB",
  wal_retrieve_retry_interval: "50ms",
  wal_receiver_timeout: "5s",
  wal_sender_timeout: "5s",
  hot_standby: "on",
};

/** What the servers have in common. */
interface SharedParts {
  readonly settings: Readonly<Record<string, string>>;
  /** Folder with the programs of PostgreSQL. */
  readonly programs: string;
  /** Holds the programs unless an environment variable names other ones. */
  readonly folder: GuardedFolder;
}

/** A walreceiver without new WAL reports NULL, or its first position. */
const received = "greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())";

/** Replace what a standby copies from the configuration of its original. */
const copiedSettings: Readonly<Record<string, string>> = {
  synchronous_standby_names: "",
  recovery_min_apply_delay: "0",
};

/** A primary and its standbys. Each server keeps its port for as long as the cluster runs. */
export class PostgresCluster implements AsyncDisposable {
  #primary: PostgresServer;
  #standbys: readonly PostgresServer[] = [];
  /** All servers that have not been stopped for good. */
  readonly #servers: Set<PostgresServer>;
  readonly #shared: SharedParts;

  private constructor(primary: PostgresServer, shared: SharedParts) {
    this.#primary = primary;
    this.#servers = new Set([primary]);
    this.#shared = shared;
  }

  /** Starts the servers; resolves when all standbys have replayed what the SQL wrote. */
  static async start(options: ClusterOptions): Promise<PostgresCluster> {
    await using resources = new AsyncDisposableStack();
    const folder = resources.use(await serverFolder());
    const programs = await postgresBinaries(folder.path);
    const settings = { ...clusterSettings, ...options.settings };
    const primary = await startPostgres({ cluster: "copied", settings, programs });
    const cluster = new PostgresCluster(primary, { settings, programs, folder });
    resources.move();
    try {
      if (options.sql !== undefined) await cluster.execute(primary, options.sql);
      for (let at = 0; at < options.standbys; at++) await cluster.#addStandby({ copyOf: primary });
      await cluster.replayed();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The server that takes writes, or took them until it was killed. */
  get primary(): PostgresServer {
    return this.#primary;
  }

  get standbys(): readonly PostgresServer[] {
    return this.#standbys;
  }

  /** Returns a connection string with several hosts: `postgres://…@127.0.0.1:1,127.0.0.1:2/postgres`. */
  uri(servers: readonly PostgresServer[], target?: ConnectionTarget): string {
    const hosts = servers.map(({ port }) => `127.0.0.1:${port}`).join(",");
    return servers[0]!.uri(target).replace(/@[^/]*/, `@${hosts}`);
  }

  /** Runs SQL on one server as the superuser; returns the rows of the last statement. */
  async execute(
    server: PostgresServer,
    sql: string,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return (await withClient(server.uri(), (client) => client.query(sql))).rows;
  }

  /** Commits wait until one of the standbys has stored them, so that no promotion loses them. */
  async synchronize(): Promise<void> {
    await this.#primary.configure({ synchronous_standby_names: "ANY 1 (*)" });
    await eventually("the primary has a quorum of standbys", async () => {
      const quorum = "select 1 from pg_stat_replication where sync_state = 'quorum'";
      return (await this.execute(this.#primary, quorum)).length > 0;
    });
  }

  /** Commits wait for no standby. */
  async desynchronize(): Promise<void> {
    await this.#primary.configure({ synchronous_standby_names: "" });
  }

  /** Stops the replay of a standby, which goes on to receive WAL. */
  async pauseReplay(standby: PostgresServer): Promise<void> {
    await this.execute(standby, "select pg_wal_replay_pause()");
    await eventually("replay is paused", async () => {
      const [row] = await this.execute(standby, "select pg_get_wal_replay_pause_state() as state");
      return row?.state === "paused";
    });
  }

  async resumeReplay(standby: PostgresServer): Promise<void> {
    await this.execute(standby, "select pg_wal_replay_resume()");
  }

  /** Makes a standby replay each commit so many milliseconds after the primary; 0 for at once. */
  async delayReplay(standby: PostgresServer, milliseconds: number): Promise<void> {
    await standby.configure({ recovery_min_apply_delay: `${milliseconds}ms` });
  }

  /** Resolves when standbys have replayed all that the primary has written until now. */
  async replayed(standbys: readonly PostgresServer[] = this.#standbys): Promise<void> {
    await this.#reached(standbys, "pg_last_wal_replay_lsn()");
  }

  /** Resolves when all standbys have stored all that the primary has written until now. */
  async received(): Promise<void> {
    await this.#reached(this.#standbys, received);
  }

  async #reached(standbys: readonly PostgresServer[], position: string): Promise<void> {
    const [row] = await this.execute(this.#primary, "select pg_current_wal_flush_lsn() as lsn");
    for (const standby of standbys) {
      await eventually(`the standby's ${position} is ${row!.lsn}`, async () => {
        return (await this.execute(standby, `select ${position} >= '${row!.lsn}' as done`))[0]!
          .done === true;
      });
    }
  }

  /**
   * Returns the standby that has received most from a primary that is down. If commits waited for a
   * standby, this one has every acknowledged commit.
   */
  async mostAdvanced(): Promise<PostgresServer> {
    const positions = await Promise.all(this.#standbys.map(async (standby) => {
      await this.#stoppedReceiving(standby);
      const position = `select ${received} - '0/0' as bytes`;
      return { standby, bytes: BigInt(String((await this.execute(standby, position))[0]!.bytes)) };
    }));
    return positions.reduce((most, next) => next.bytes > most.bytes ? next : most).standby;
  }

  /** What the primary sent before its death may still be on its way to the standby's disk. */
  async #stoppedReceiving(standby: PostgresServer): Promise<void> {
    const receiving = "select 1 from pg_stat_wal_receiver where status = 'streaming'";
    await eventually("the standby has received all", async () => {
      return (await this.execute(standby, receiving)).length === 0;
    });
  }

  /**
   * Promotes a standby while the primary is down, and lets the other standbys follow it. The former
   * primary leaves the cluster until {@linkcode rejoin}.
   */
  async promote(standby: PostgresServer): Promise<PostgresServer> {
    const former = this.#primary;
    await standby.promote();
    this.#primary = standby;
    this.#standbys = this.#standbys.filter((other) => other !== standby);
    for (const other of this.#standbys) await other.configure({ primary_conninfo: standby.uri() });
    return former;
  }

  /**
   * Replaces a former primary, whose timeline has ended, by a standby on its port. The new standby copies
   * another one, which is halted meanwhile.
   */
  async rejoin(former: PostgresServer): Promise<PostgresServer> {
    await former.stop();
    this.#servers.delete(former);
    return await this.#addStandby({ copyOf: this.#standbys[0]!, port: former.port });
  }

  /** Stops all servers and removes their folders. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#servers].map((server) => server.stop()));
    await this.#shared.folder.remove();
  }

  async #addStandby(
    { copyOf, port }: { readonly copyOf: PostgresServer; readonly port?: number },
  ): Promise<PostgresServer> {
    const standby = await startPostgres({
      settings: { ...this.#shared.settings, ...copiedSettings },
      programs: this.#shared.programs,
      standbyOf: this.#primary,
      copyOf,
      ...(port === undefined ? {} : { port }),
    });
    this.#standbys = [...this.#standbys, standby];
    this.#servers.add(standby);
    return standby;
  }
}
