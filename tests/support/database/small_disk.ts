/** A folder on a separate disk that is soon full. Only root can mount one, and not in every
 * container. @module */

/** A mounted disk. It does not outlive the process that asked for it, however that one ends. */
export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
}

/** Mounts a disk for everybody to write on; null where that is not possible. */
export async function smallDisk(megabytes: number): Promise<SmallDisk | null> {
  const path = await Deno.makeTempDir({ prefix: "svc_disk_" });
  const guard = new Deno.Command("sh", {
    args: ["-c", guardScript, "guard", path, `size=${megabytes}m,mode=1777`],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const end = async () => {
    await guard.stdin.close();
    await guard.stdout.cancel();
    await guard.status;
  };
  const reader = guard.stdout.getReader();
  const { done } = await reader.read();
  reader.releaseLock();
  if (!done) return { path, [Symbol.asyncDispose]: end };
  await end();
  return null;
}

/** Reports that the disk is mounted, and waits for the end of its input. */
const guardScript = `
trap '' INT TERM HUP
if mount -t tmpfs -o "$2" tmpfs "$1"; then
  echo mounted
  cat > /dev/null
  umount -l "$1"
fi
rmdir "$1"
`;
