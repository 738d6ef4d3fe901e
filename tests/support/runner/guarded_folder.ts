/** Makes a temporary folder that does not outlive the process that asked for it, however that one
 * ends; nor does the PostgreSQL server whose `data` folder is in it. @module */

/** A temporary folder. */
export interface GuardedFolder extends AsyncDisposable {
  readonly path: string;
  /** Stops the server, if one runs here, and removes the folder. May be called twice. */
  remove(): Promise<void>;
}

/** Makes a folder in `dir`, by default the one of temporary files, and starts its guard. */
export async function guardedFolder(prefix: string, dir?: string): Promise<GuardedFolder> {
  const path = await Deno.makeTempDir({ prefix, dir });
  const guard = new Deno.Command("sh", {
    args: ["-c", guardScript, "guard", path],
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let removed: Promise<void> | undefined;
  const remove = () => removed ??= endGuard(guard);
  return { path, remove, [Symbol.asyncDispose]: remove };
}

async function endGuard(guard: Deno.ChildProcess): Promise<void> {
  await guard.stdin.close();
  await guard.status;
}

/**
 * Waits for the end of its input, which comes with the end of the parent process at the latest.
 * Ctrl-C reaches the whole process group, so it is ignored here. A server that stopped has taken its
 * `postmaster.pid` away.
 */
const guardScript = `
trap '' INT TERM HUP
cat
read -r pid < "$1/data/postmaster.pid" && kill -QUIT "$pid" &&
  while kill -0 "$pid" && [ -e "$1/data/postmaster.pid" ]; do sleep 0.02; done
rm -rf "$1"
`;
