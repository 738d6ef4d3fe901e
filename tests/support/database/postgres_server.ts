/** Starts a throw-away PostgreSQL server, which is gone with its folder when the process that asked
 * for it ends, however that comes about. @module */
import { join } from "node:path";
import { clusterVariable } from "../runner/environment.ts";
import { freePort } from "../server/free_port.ts";
import { type GuardedFolder, guardedFolder } from "../runner/guarded_folder.ts";
import { killFamily } from "../server/kill_family.ts";
import { postgresBinaries } from "./postgres_binaries.ts";

/** How PostgreSQL is told to stop; see `pg_ctl` in its manual. */
export type StopMode = "smart" | "fast" | "immediate";

/** Whom to connect as, and where. */
export interface ConnectionTarget {
  /** `postgres` unless told. */
  readonly database?: string;
  /** The superuser unless told. */
  readonly user?: string;
  /** The superuser's unless told. */
  readonly password?: string;
}

/** A running PostgreSQL server. */
export interface PostgresServer extends AsyncDisposable {
  /** TCP port on 127.0.0.1; stays the same over {@linkcode halt} and {@linkcode resume}. */
  readonly port: number;
  /** Holds everything the server writes, its Unix socket and its `log`. */
  readonly folder: string;
  /** `18.4` */
  readonly version: string;
  uri(target?: ConnectionTarget): string;
  /** Stops the server but keeps its data. */
  halt(mode: StopMode): Promise<void>;
  /** Starts the server again after {@linkcode halt} or {@linkcode kill}. */
  resume(): Promise<void>;
  /** Kills all processes of the server by SIGKILL but keeps its data. */
  kill(): Promise<void>;
  /** Changes settings and signals a reload; the server's processes follow a moment later. */
  configure(settings: Readonly<Record<string, string>>): Promise<void>;
  /** Makes a standby an independent server; resolves when it takes writes. */
  promote(): Promise<void>;
  /** Stops the server for good and removes its folder. */
  stop(): Promise<void>;
}

export interface PostgresOptions {
  /** Server settings in addition to the defaults here, for example `{ max_connections: "20" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Folder with the programs of PostgreSQL. Default: the server gets a copy. */
  readonly programs?: string;
  /**
   * `copied`: a copy of the cluster that the run of the tests has made, which has the same system
   * identifier and is there sooner. Default: `own`, by `initdb`.
   */
  readonly cluster?: "own" | "copied";
  /** Folder in which the server gets a folder. Default: the one of temporary files. */
  readonly dir?: string;
  /** TCP port. Default: a free one. */
  readonly port?: number;
  /** Makes the server a standby of this one, which it follows from then on. */
  readonly standbyOf?: PostgresServer;
  /** Server that a standby copies, and that is halted meanwhile. Default: the one that it follows. */
  readonly copyOf?: PostgresServer;
}

/** What was committed survives the death of the server, but not a power cut. */
const testSettings: Readonly<Record<string, string>> = {
  // Its workers visit hundreds of databases all the time, and change plans by chance.
  autovacuum: "off",
  fsync: "off",
  full_page_writes: "off",
  max_connections: "200",
  wal_level: "replica",
  listen_addresses: "127.0.0.1",
};

/** PostgreSQL refuses to run as root, so root starts it as `nobody`. */
const nobody = { uid: 65534, gid: 65534 } as const;

/** Runs one of PostgreSQL's programs to its end; raises an `Error` with its output if it fails. */
type Run = (program: string, args: readonly string[]) => Promise<string>;

/** Starts a separate server on a free port, with an empty cluster in the C locale and UTC. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const folder = await serverFolder(options.dir);
  try {
    const programs = options.programs ?? await postgresBinaries(folder.path);
    const run = runIn(folder.path, programs, Deno.uid() === 0 ? nobody : {});
    return await bootServer(folder, run, options);
  } catch (error) {
    await folder.remove();
    throw error;
  }
}

/** Makes a folder that belongs to the user that PostgreSQL runs as. */
export async function serverFolder(dir?: string): Promise<GuardedFolder> {
  const folder = await guardedFolder("svc_postgres_", dir);
  if (Deno.uid() === 0) await Deno.chown(folder.path, nobody.uid, nobody.gid);
  return folder;
}

async function bootServer(
  { path: folder, remove: stop }: GuardedFolder,
  run: Run,
  { settings, cluster, standbyOf, copyOf = standbyOf, port = freePort() }: PostgresOptions,
): Promise<PostgresServer> {
  const prepared = cluster === "copied" ? Deno.env.get(clusterVariable) : undefined;
  const superuserPassword = standbyOf === undefined
    ? await (prepared ? copyPrepared(prepared, folder) : initCluster(folder, run))
    : new URL(standbyOf.uri()).password;
  if (standbyOf !== undefined) await copyCluster(copyOf!, folder);
  const follows: Readonly<Record<string, string>> = standbyOf === undefined
    ? {}
    : { primary_conninfo: standbyOf.uri() };
  await writeSettings(folder, { ...testSettings, port: String(port), ...follows, ...settings });
  const control = ["-D", join(folder, "data"), "-w", "-t", "60"];
  const resume = async () => {
    await run("pg_ctl", [...control, "-l", join(folder, "log"), "start"]);
  };
  await resume();
  return {
    port,
    folder,
    version: (await run("postgres", ["--version"])).split(" ")[2]!.trim(),
    uri: ({ database = "postgres", user = "postgres", password = superuserPassword } = {}) =>
      `postgres://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}/${
        encodeURIComponent(database)
      }`,
    halt: async (mode) => {
      await run("pg_ctl", [...control, "-m", mode, "stop"]);
    },
    resume,
    kill: () => killServer(folder, port),
    configure: async (changed) => {
      await writeSettings(folder, changed);
      await run("pg_ctl", ["-D", join(folder, "data"), "reload"]);
    },
    promote: async () => {
      await run("pg_ctl", [...control, "promote"]);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Makes a cluster for {@linkcode PostgresOptions.cluster} in a folder. */
export async function prepareCluster(folder: string, programs: string): Promise<void> {
  await initCluster(folder, runIn(folder, programs, Deno.uid() === 0 ? nobody : {}));
}

/** Makes a cluster and returns the superuser's password, which is also in a file. */
async function initCluster(folder: string, run: Run): Promise<string> {
  const password = crypto.randomUUID();
  const passwordFile = join(folder, "password");
  await Deno.writeTextFile(passwordFile, password);
  const locale = ["--encoding=UTF8", "--locale=C", "--lc-ctype=C.UTF-8"];
  const login = ["--username=postgres", "--auth=scram-sha-256", `--pwfile=${passwordFile}`];
  await run("initdb", ["-D", join(folder, "data"), "--no-sync", ...locale, ...login]);
  return password;
}

/** Copies a cluster that no server runs on, and returns the superuser's password. */
async function copyPrepared(from: string, folder: string): Promise<string> {
  await copyData(from, folder);
  return await Deno.readTextFile(join(from, "password"));
}

/** Copies the data of a server, with owners and modes, as the data of a standby. */
async function copyCluster(original: PostgresServer, folder: string): Promise<void> {
  await original.halt("fast");
  await copyData(original.folder, folder);
  await Deno.writeTextFile(join(folder, "data", "standby.signal"), "");
  await original.resume();
}

async function copyData(from: string, to: string): Promise<void> {
  const copy = new Deno.Command("cp", { args: ["-a", join(from, "data"), join(to, "data")] });
  const { success, stderr } = await copy.output();
  if (!success) throw new Error(`no copy of the server: ${new TextDecoder().decode(stderr)}`);
}

/**
 * Kills the server, and removes its lock files: one with the number of a process that exists keeps the
 * server from starting, and a killed process exists until its parent has read its status.
 */
async function killServer(folder: string, port: number): Promise<void> {
  const lock = join(folder, "data", "postmaster.pid");
  await killFamily(Number((await Deno.readTextFile(lock)).split("\n")[0]));
  await Deno.remove(lock);
  await Deno.remove(join(folder, `.s.PGSQL.${port}.lock`));
}

async function writeSettings(
  folder: string,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const lines = Object.entries({ ...settings, unix_socket_directories: folder })
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`);
  await Deno.writeTextFile(join(folder, "data", "postgresql.conf"), lines.join(""), {
    append: true,
  });
}

/** Variables of the caller such as `PGPORT` must not reach the programs. */
function runIn(folder: string, bin: string, user: Partial<typeof nobody>): Run {
  return async (program, args) => {
    const command = new Deno.Command(join(bin, program), {
      args: [...args],
      clearEnv: true,
      cwd: folder,
      env: { PATH: Deno.env.get("PATH") ?? "", TZ: "UTC" },
      stdin: "null",
      ...user,
    });
    const { success, stdout, stderr } = await command.output();
    const text = new TextDecoder().decode(stdout);
    if (success) return text;
    const log = await Deno.readTextFile(join(folder, "log")).catch(() => "");
    throw new Error(`${program} failed:\n${text}${new TextDecoder().decode(stderr)}${log}`);
  };
}
