/**
 * Runs the tests: `deno task test [--row <text>] [arguments of deno test]`. Starts one PostgreSQL server
 * and makes one empty PGlite directory for all test files. Removes both at the end.
 *
 * The last line of the output is `N passed, N failed`; it counts a step of a test like a test. `--row`
 * runs only the rows of table suites whose name contains the text; a run without such a row fails.
 *
 * A server that already runs is used instead if `SVC_TEST_URI` names it with a superuser. The databases
 * of tests are dropped from it, but the roles of fixtures stay. `SVC_TEST_POSTGRES_BIN` chooses another
 * PostgreSQL to start.
 *
 * @module
 */
import { join } from "node:path";
import { startEngine } from "../../src/database/adapters/start_engine.ts";
import { pgliteVariable, serverVariable } from "./environment.ts";
import { guardedFolder } from "./guarded_folder.ts";
import { binFolderVariable, postgresBinaries } from "./postgres_binaries.ts";
import { serverFolder, startPostgres } from "./postgres_server.ts";
import { hasStep, readTestArguments, rowVariable } from "./row_filter.ts";
import { countTests, describeCounts } from "./test_counts.ts";

/** `deno.json` enables the sanitizers of resources and ops. */
const flags = ["-A", "--doc", "--parallel"];

/** Tests of processes wait for most of their time, so that twice as many as there are processors run. */
const jobs = String(navigator.hardwareConcurrency * 2);

/** Runs `deno test` and returns its exit code. */
async function runTests(args: readonly string[]): Promise<number> {
  const { row, others } = readTestArguments(args);
  await using folder = await guardedFolder("svc_tests_");
  await using cleanup = new AsyncDisposableStack();
  const [server, pglite] = await Promise.all([
    runningServer() ?? startServer(cleanup),
    makePglite(join(folder.path, "pglite")),
  ]);
  const report = join(folder.path, "report.xml");
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", ...flags, `--junit-path=${report}`, ...others],
    env: {
      DENO_JOBS: jobs,
      ...Deno.env.toObject(),
      ...server,
      [pgliteVariable]: pglite,
      [rowVariable]: row ?? "",
    },
  }).spawn();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    Deno.addSignalListener(signal, () => child.kill(signal));
  }
  const { code } = await child.status;
  const xml = await Deno.readTextFile(report).catch(() => "");
  if (row !== null && code === 0 && !hasStep(xml)) {
    console.log(`no row's name contains ${row}`);
    return 1;
  }
  console.log(describeCounts(countTests(xml, code)));
  return code;
}

/** Variables by which tests find their server. */
type ServerEnvironment = Readonly<Record<string, string>>;

/** Returns the server that the environment names; null without one. */
function runningServer(): ServerEnvironment | null {
  const uri = Deno.env.get(serverVariable);
  return uri ? { [serverVariable]: uri } : null;
}

/** Starts a server. Those that tests start share its programs, since a copy takes 60 MB. */
async function startServer(cleanup: AsyncDisposableStack): Promise<ServerEnvironment> {
  console.error("Starting PostgreSQL...");
  const start = performance.now();
  const folder = cleanup.use(await serverFolder());
  const programs = await postgresBinaries(folder.path);
  const server = cleanup.use(await startPostgres({ programs }));
  console.error(`PostgreSQL ${server.version} runs on port ${server.port}${since(start)}`);
  return { [serverVariable]: server.uri(), [binFolderVariable]: programs };
}

async function makePglite(path: string): Promise<string> {
  console.error("Preparing PGlite...");
  const start = performance.now();
  const { close } = await startEngine({ uri: `pglite://${path}`, init: null });
  await close();
  console.error(`PGlite is ready${since(start)}`);
  return path;
}

function since(start: number): string {
  return ` (${Math.round(performance.now() - start)} ms)`;
}

Deno.exit(await runTests(Deno.args));
