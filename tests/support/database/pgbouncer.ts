/** Starts PgBouncer before a PostgreSQL server, where it is installed. @module */
import { join } from "node:path";
import { findProgram } from "../server/find_program.ts";
import { freePort } from "../server/free_port.ts";
import { guardedFolder } from "../runner/guarded_folder.ts";
import { collectLines } from "../server/lines.ts";

/** What a server connection is kept for; see `pool_mode` in PgBouncer's manual. */
export type PoolMode = "session" | "transaction" | "statement";

/** A running pooler. */
export interface Pgbouncer extends AsyncDisposable {
  readonly port: number;
}

export interface PgbouncerOptions {
  readonly mode: PoolMode;
  /** Where PostgreSQL is, and as whom the pooler logs in there. */
  readonly server: { readonly port: number; readonly user: string; readonly password: string };
}

/** Returns the path of PgBouncer, or null where it is not installed. */
export function findPgbouncer(): string | null {
  return findProgram("pgbouncer");
}

/** PgBouncer refuses to run as root, so root starts it as `nobody`. */
const nobody = { uid: 65534, gid: 65534 } as const;

/** Starts a pooler on a free port with any number of clients and four connections to the server. */
export async function startPgbouncer(
  program: string,
  { mode, server }: PgbouncerOptions,
): Promise<Pgbouncer> {
  await using resources = new AsyncDisposableStack();
  const folder = await guardedFolder("svc_pgbouncer_");
  resources.defer(() => folder.remove());
  const isRoot = Deno.uid() === 0;
  if (isRoot) await Deno.chown(folder.path, nobody.uid, nobody.gid);
  const port = freePort();
  const file = join(folder.path, "pgbouncer.ini");
  await Deno.writeTextFile(
    file,
    `
    [databases]
    * = host=127.0.0.1 port=${server.port} user=${server.user} password=${server.password}
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = ${port}
    unix_socket_dir =
    auth_type = any
    pool_mode = ${mode}
    default_pool_size = 4
    server_round_robin = 1
  `.replace(/^ +/gm, ""),
  );
  const child = new Deno.Command(program, {
    args: [file],
    cwd: folder.path,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    ...(isRoot ? nobody : {}),
  }).spawn();
  const lines = collectLines(child.stderr);
  resources.defer(async () => {
    try {
      child.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
    await Promise.all([child.status, lines.ended]);
  });
  await lines.waitFor(/process up/);
  const owned = resources.move();
  return { port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
