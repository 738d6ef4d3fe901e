/** Looks for Deno's debugger in a process, as another user of the machine could. @module */
import { collectLines } from "./lines.ts";

/** Attempts to reach the debugger. Disposing of it ends them. */
export interface DebuggerAttack extends AsyncDisposable {
  /** Ends the attempts. Returns what a debugger of the process answered, in lines. */
  stop(pid: number): Promise<readonly string[]>;
}

/** Where Deno's debugger listens. */
export const debuggerPort = 9229;

/** Connects, asks what can be debugged, and starts again. `cat` ends when the debugger closes. */
const script = `
while :; do
  {
    printf 'GET /json/list HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 &&
      timeout 1 cat <&3 | tr -d '\\n'
    echo
  } 3<>/dev/tcp/127.0.0.1/${debuggerPort}
done 2>/dev/null
`;

/** Any user but the one that runs the tests, if there is a choice. */
const stranger = Deno.uid() === 0 ? { uid: 65534, gid: 65534 } : {};

/** Starts connecting to the debugger's port in a loop, as another user where the tests run as root. */
export function attackDebugger(): DebuggerAttack {
  const child = new Deno.Command("bash", {
    args: ["-c", script],
    cwd: "/",
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    ...stranger,
  }).spawn();
  const { all, ended } = collectLines(child.stdout);
  const end = async () => {
    if (!isEnded) child.kill("SIGKILL");
    isEnded = true;
    await child.status;
    await ended;
  };
  let isEnded = false;
  return {
    stop: async (pid) => {
      await end();
      // Another process of this machine may be debugged meanwhile: a debugger names its port.
      return all.filter((line) => line.includes(`[pid: ${pid}]`));
    },
    [Symbol.asyncDispose]: end,
  };
}

/** Returns the TCP ports that a process listens on, ascending. Linux only. */
export function listeningPorts(pid: number): readonly number[] {
  const own = new Set(socketsOf(pid));
  const rows = ["tcp", "tcp6"].flatMap((table) =>
    Deno.readTextFileSync(`/proc/${pid}/net/${table}`).trim().split("\n").slice(1)
  );
  const ports = rows.map((row) => row.trim().split(/\s+/))
    .filter(([, , , state, , , , , , inode]) => state === listenState && own.has(inode!))
    .map(([, local]) => parseInt(local!.split(":")[1]!, 16));
  return ports.sort((a, b) => a - b);
}

/** The state `LISTEN` in `/proc/net/tcp`. */
const listenState = "0A";

/** Returns the inodes of the sockets that a process has open. */
function socketsOf(pid: number): readonly string[] {
  const folder = `/proc/${pid}/fd`;
  return Array.from(Deno.readDirSync(folder), ({ name }) => {
    try {
      return /^socket:\[(\d+)\]$/.exec(Deno.readLinkSync(`${folder}/${name}`))?.[1] ?? "";
    } catch {
      return ""; // closed meanwhile
    }
  });
}

/** Returns a process and those that it started, at any depth. Linux only. */
export function processTree(pid: number): readonly number[] {
  const children = Array.from(
    Deno.readDirSync(`/proc/${pid}/task`),
    ({ name }) => Deno.readTextFileSync(`/proc/${pid}/task/${name}/children`).trim(),
  ).filter((line) => line !== "").flatMap((line) => line.split(" ").map(Number));
  return [pid, ...children.flatMap(processTree)];
}
