/**
 * Runs the tests: `deno task test [--row <text>] [arguments of deno test]`. Starts one PostgreSQL server
 * and makes one empty PGlite directory for all test files. Removes both at the end.
 *
 * The last line of the output is `N passed, N failed`; a step of a test is counted like a test.
 * `--row` runs only the rows of table suites whose name contains the text; a run without such a row
 * fails.
 *
 * A server that already runs is used instead if `SVC_TEST_URI` names it with a superuser. The databases
 * of tests are dropped from it, but the roles of fixtures stay. `SVC_TEST_POSTGRES_BIN` chooses another
 * PostgreSQL to start.
 *
 * @module
 */
import { statfsSync } from "node:fs";
import { join } from "node:path";
import { startEngine } from "../../src/database/adapters/start_engine.ts";
import { clusterVariable, pgliteVariable, serverVariable } from "./runner/environment.ts";
import { guardedFolder } from "./runner/guarded_folder.ts";
import { binFolderVariable, postgresBinaries } from "./database/postgres_binaries.ts";
import { prepareCluster, serverFolder, startPostgres } from "./database/postgres_server.ts";
import { hasStep, readTestArguments, rowVariable } from "./runner/row_filter.ts";
import { allTests } from "./runner/test_files.ts";
import { countTests, describeCounts } from "./runner/test_counts.ts";

const root = new URL("../..", import.meta.url).pathname;
const config = new URL("../deno.json", import.meta.url).pathname;

/** `deno.json` enables the sanitizers of resources and ops. */
const flags = [`--config=${config}`, "-A", "--doc", "--parallel"];

/** Tests of processes wait for much of their time. More files at once took as long. */
const jobs = String(navigator.hardwareConcurrency * 2);

/** Optimizing the code of PGlite takes longer than most suites run. */
const v8Flags = "--liftoff-only";

/** Runs `deno test` and returns its exit code. */
async function runTests(args: readonly string[]): Promise<number> {
  const { row, others } = readTestArguments(args);
  await using folder = await guardedFolder("svc_tests_");
  await using cleanup = new AsyncDisposableStack();
  const [uri, pglite] = await Promise.all([
    Deno.env.get(serverVariable) || startServer(cleanup),
    makePglite(join(folder.path, "pglite")),
  ]);
  const report = join(folder.path, "report.xml");
  const isWhole = others.every((arg) => arg.startsWith("-"));
  // The compiler uses one processor for most of a minute: tests need not wait for it.
  const types = isWhole && !others.includes("--no-check") ? checkTypes() : 0;
  const files = isWhole ? ["--no-check", ...await allTests(root, folder.path)] : [];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", ...flags, `--junit-path=${report}`, ...others, ...files],
    env: {
      DENO_JOBS: jobs,
      DENO_V8_FLAGS: v8Flags,
      ...Deno.env.toObject(),
      [serverVariable]: uri,
      [pgliteVariable]: pglite,
      [rowVariable]: row ?? "",
    },
  }).spawn();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => child.kill(signal));
  }
  const code = (await child.status).code || await types;
  const xml = await Deno.readTextFile(report).catch(() => "");
  if (row !== null && code === 0 && !hasStep(xml)) {
    console.log(`no row's name contains ${row}`);
    return 1;
  }
  if (xml === "") console.error(`the run ended without a report: exit code ${code}`);
  console.log(describeCounts(countTests(xml, code)));
  return code;
}

async function checkTypes(): Promise<number> {
  // Examples import the bundle, which a clean clone lacks.
  const args = [
    "check",
    "--quiet",
    `--config=${config}`,
    "main.ts",
    "mod.ts",
    "src",
    "tests",
    "tools",
  ];
  return (await new Deno.Command(Deno.execPath(), { args, cwd: root }).spawn().status).code;
}

/**
 * Starts a server. Those that tests start share its programs, since a copy takes 60 MB, and may copy its
 * cluster: variables of this process name both.
 */
async function startServer(cleanup: AsyncDisposableStack): Promise<string> {
  console.error("Starting PostgreSQL...");
  const start = performance.now();
  const { path } = cleanup.use(await serverFolder());
  const programs = await postgresBinaries(path);
  await prepareCluster(path, programs);
  Deno.env.set(binFolderVariable, programs);
  Deno.env.set(clusterVariable, path);
  const server = cleanup.use(await startPostgres({ cluster: "copied", dir: memoryFolder() }));
  console.error(`PostgreSQL ${server.version} runs on port ${server.port}${since(start)}`);
  return server.uri();
}

/**
 * A file system in memory, if this system has one with room: suites make and drop hundreds of
 * databases, of which files on a disk took a tenth of the time of a whole run.
 */
function memoryFolder(): string | undefined {
  const path = "/dev/shm";
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= 4 * 2 ** 30 ? path : undefined;
  } catch {
    return undefined;
  }
}

async function makePglite(path: string): Promise<string> {
  console.error("Preparing PGlite...");
  const start = performance.now();
  const { close } = await startEngine({ uri: `pglite://${path}`, init: null });
  await close();
  // Each suite copies the folder; nothing connects to the databases `template1` and `template0`.
  for (const template of ["1", "4"]) {
    await Deno.remove(join(path, "base", template), { recursive: true });
  }
  console.error(`PGlite is ready${since(start)}`);
  return path;
}

function since(start: number): string {
  return ` (${Math.round(performance.now() - start)} ms)`;
}

Deno.exit(await runTests(Deno.args));
