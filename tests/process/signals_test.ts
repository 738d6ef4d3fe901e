import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { shellQuoted } from "../../src/base/lib/shell_word.ts";
import { attackDebugger, listeningPorts, processTree } from "../support/server/debugger_attack.ts";
import { engines } from "../support/database/engines.ts";
import { eventually } from "../support/timing/eventually.ts";
import { freePort } from "../support/server/free_port.ts";
import {
  configText,
  type DenoProcess,
  startCommand,
  startDeno,
  startService,
} from "../support/server/process.ts";
import { findScript } from "../support/server/program.ts";
import { programCommand } from "../support/server/program_command.ts";

const fixture = { name: "serving", roles: ["web_anon"] };
const onLinux = { ignore: Deno.build.os !== "linux" };
const loaded = /Schema cache loaded in/;
const root = new URL("../../", import.meta.url).pathname;

/** A process that SIGUSR1 is sent to. */
interface Target extends AsyncDisposable {
  readonly process: DenoProcess;
  readonly url: string;
  /** Ports that it listens on. */
  readonly ports: readonly number[];
}

const targets: Readonly<Record<string, () => Promise<Target>>> = {
  "deno run": async () => {
    const database = await engines.pg(fixture);
    const ports = [freePort(), freePort()];
    const service = await startService({
      "db-uri": database.uri,
      "db-schemas": "api",
      "db-anon-role": "web_anon",
      "server-port": ports[0]!,
      "admin-server-port": ports[1]!,
    });
    await service.listening();
    const dispose = async () => {
      await service[Symbol.asyncDispose]();
      await database.remove();
    };
    const url = `${service.origin}/items?id=eq.1`;
    return { process: service, url, ports, [Symbol.asyncDispose]: dispose };
  },
  "deno task start": async () => {
    const ports = [freePort(), freePort()];
    const process = startDeno(["task", `--config=${root}deno.json`, "start"], {
      env: { SVC_SERVER_PORT: String(ports[0]), SVC_ADMIN_SERVER_PORT: String(ports[1]) },
    });
    await process.stderr.waitFor(/API server listening on/, { seconds: 120 });
    const url = `http://127.0.0.1:${ports[0]}/todos?id=eq.1`;
    return { process, url, ports, [Symbol.asyncDispose]: () => stopTree(process) };
  },
  "an app with the handler": async () => {
    const database = await engines.pg(fixture);
    const port = freePort();
    const process = startDeno(["run", "-A", `${root}examples/deno_app/app.ts`], {
      env: {
        PORT: String(port),
        SVC_DB_URI: database.uri,
        SVC_DB_SCHEMAS: "api",
        SVC_DB_ANON_ROLE: "web_anon",
      },
    });
    await process.stdout.waitFor(/Listening on/);
    const dispose = async () => {
      await process[Symbol.asyncDispose]();
      await database.remove();
    };
    const url = `http://127.0.0.1:${port}/api/items?id=eq.1`;
    return { process, url, ports: [port], [Symbol.asyncDispose]: dispose };
  },
};

/** Ends a process whose children would outlive it. */
async function stopTree(process: DenoProcess): Promise<void> {
  await process.stop();
  await process[Symbol.asyncDispose]();
}

/** More than a reload of the schema takes at the same time: some arrive while one is under way. */
const sentSignals = 30;

for (const [name, start] of Object.entries(targets)) {
  Deno.test({
    name: `SIGUSR1 opens no debugger in ${name}, however often it is sent`,
    ...onLinux,
    fn: async () => {
      await using target = await start();
      const { process, url, ports } = target;
      const pids = processTree(process.pid);
      await using attack = attackDebugger();
      await using client = startRequests(url);
      const opened = new Set<number>();
      for (let count = 0; count < sentSignals; count++) {
        for (const pid of pids) Deno.kill(pid, "SIGUSR1");
        await client.answered();
        for (const port of pids.flatMap(listeningPorts)) opened.add(port);
      }
      deepStrictEqual([...opened].sort((a, b) => a - b), ports.toSorted((a, b) => a - b));
      for (const pid of pids) deepStrictEqual(await attack.stop(pid), []);
      deepStrictEqual([...client.statuses], [200]);
      const log = [...process.stdout.all, ...process.stderr.all];
      deepStrictEqual(log.filter((line) => /debug|inspect|9229/i.test(line)), []);
    },
  });
}

/** Requests that keep a process busy. Disposing of it ends them. */
interface Requests extends AsyncDisposable {
  readonly statuses: ReadonlySet<number>;
  /** Resolves with the next answer that arrives. */
  answered(): Promise<void>;
}

const parallelRequests = 3;

function startRequests(url: string): Requests {
  const statuses = new Set<number>();
  let next = Promise.withResolvers<void>();
  let isOpen = true;
  const client = Deno.createHttpClient({ poolMaxIdlePerHost: parallelRequests });
  const run = async () => {
    while (isOpen) {
      const response = await fetch(url, { client });
      await response.bytes();
      statuses.add(response.status);
      next.resolve();
      next = Promise.withResolvers();
    }
  };
  const runs = Promise.all(Array.from({ length: parallelRequests }, run));
  return {
    statuses,
    answered: () => Promise.race([next.promise, runs.then(() => {})]),
    [Symbol.asyncDispose]: async () => {
      isOpen = false;
      await runs;
      client.close();
    },
  };
}

Deno.test({
  name: "SIGHUP reloads on a terminal, and ends the process when the terminal closes",
  ignore: onLinux.ignore || !findScript(),
  fn: async () => {
    const database = await engines.pg(fixture);
    try {
      const flags = ["--db-schemas=api", "--db-anon-role=web_anon", `--port=${freePort()}`];
      const command = programCommand([`--db-uri=${database.uri}`, ...flags]).map(shellQuoted);
      await using terminal = startCommand(
        ["script", "--quiet", "--command", `exec ${command.join(" ")}`, "/dev/null"],
        { env: { SHELL: "/bin/sh" } },
      );
      await terminal.stdout.waitFor(loaded);
      await terminal.stdout.waitFor(/API server listening on/);
      const process = processTree(terminal.pid).at(-1)!;
      const after = terminal.stdout.all.length;
      Deno.kill(process, "SIGHUP");
      await terminal.stdout.waitFor(loaded, { after });
      await terminal.stop("SIGKILL");
      await eventually("the process has ended", () => !isRunning(process));
    } finally {
      await database.remove();
    }
  },
});

/** A process that ended and that no parent waits for has no command line any more. */
function isRunning(pid: number): boolean {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/cmdline`) !== "";
  } catch {
    return false;
  }
}

Deno.test({
  name: "signals for a reload do not end a process that is starting",
  ...onLinux,
  fn: async () => {
    const database = await engines.pg(fixture);
    const folder = await Deno.makeTempDir({ prefix: "svc_signals_" });
    try {
      const config = join(folder, "pipe");
      await new Deno.Command("mkfifo", { args: [config] }).output();
      await using process = startCommand(programCommand([config]));
      // Opens when the service opens its end, which then waits for the text.
      const pipe = await Deno.open(config, { write: true });
      for (const signal of ["SIGUSR1", "SIGUSR2", "SIGHUP"] as const) process.signal(signal);
      const text = configText({
        "db-uri": database.uri,
        "db-schemas": "api",
        "db-anon-role": "web_anon",
        "server-port": freePort(),
      });
      await pipe.write(new TextEncoder().encode(text));
      pipe.close();
      await process.stderr.waitFor(/API server listening on/);
      strictEqual((await process.stop()).code, 0);
    } finally {
      await database.remove();
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** A process that runs a program as `main.ts` does. */
async function startProgram(
  program: string,
  before = "",
): Promise<DenoProcess & { readonly folder: string }> {
  const folder = await Deno.makeTempDir({ prefix: "svc_program_" });
  const start = join(folder, "start.ts");
  await Deno.writeTextFile(join(folder, "program.ts"), program);
  await Deno.writeTextFile(
    start,
    `import { runInWorker } from "file://${root}src/process/server/main_thread.ts";
    ${before}
    runInWorker(new URL("./program.ts", import.meta.url));`,
  );
  const process = startDeno(["run", "-A", `--config=${root}deno.json`, "--no-lock", start]);
  const dispose = async () => {
    await process[Symbol.asyncDispose]();
    await Deno.remove(folder, { recursive: true });
  };
  return { ...process, folder, [Symbol.asyncDispose]: dispose };
}

const ends: readonly [string, string, number, RegExp][] = [
  ["its exit code", "export const main = () => Promise.resolve(7);", 7, /^$/],
  ["a rejection", `export const main = () => Promise.reject(new Error("a"));`, 1, /^Error: a$/m],
  [
    "an error in a callback",
    `export const main = () => new Promise(() => setTimeout(() => { throw new Error("b"); }));`,
    1,
    /^Error: b$/m,
  ],
  [
    "a rejection that nothing handles",
    `export const main = () => new Promise(() => { Promise.reject(new Error("c")); });`,
    1,
    /^Error: c$/m,
  ],
  ["an error in its module", `throw new Error("d");`, 1, /^Error: d$/m],
  ["a module that does not load", `import "./missing.ts";`, 1, /Module not found/],
];

for (const [name, program, code, text] of ends) {
  Deno.test(`runInWorker() ends the process with ${code} after ${name}`, async () => {
    await using process = await startProgram(program);
    strictEqual((await process.status).code, code);
    await process.stderr.ended;
    match(process.stderr.all.join("\n"), text);
  });
}

Deno.test({
  name: "runInWorker() closes a debugger that opened before it was called",
  ...onLinux,
  fn: async () => {
    await using process = await startProgram(
      `export const main = () => { console.log("runs"); return new Promise(() => {}); };`,
      // SIGUSR1 opens the same debugger, but always at port 9229, which other users may watch. Deno
      // listens for SIGUSR1 after 500 ms, so runInWorker() closes no debugger before.
      `const { default: inspector } = await import("node:inspector");
      inspector.open(0, "127.0.0.1");
      await new Deno.Command("mkfifo", { args: ["pipe"], cwd: import.meta.dirname }).output();
      while (performance.now() < 500);
      console.log("debugged at " + inspector.url());
      await Deno.readTextFile(import.meta.dirname + "/pipe");`,
    );
    const url = /debugged at ws:\/\/127\.0\.0\.1:(\d+)/;
    const port = url.exec(await process.stdout.waitFor(url))![1];
    deepStrictEqual(listeningPorts(process.pid), [Number(port)]);
    await Deno.writeTextFile(join(process.folder, "pipe"), "go");
    await process.stdout.waitFor(/runs/);
    await eventually(
      "the debugger closes",
      () => Promise.resolve(listeningPorts(process.pid).length === 0),
    );
  },
});
