/** Runs the suite in every runtime, through the examples: `deno task runtimes [name of a runtime
 * …]`. Prints one line per runtime, and exits with 1 when something failed. @module */
import { build } from "../../tools/build/build.ts";
import { guardedFolder } from "../support/runner/guarded_folder.ts";
import { startPostgres } from "../support/database/postgres_server.ts";
import { type Outcome, type Place, runtimes } from "./places.ts";
import { suiteKeys } from "./cases.ts";

async function main(names: readonly string[]): Promise<number> {
  await build();
  await using server = await startPostgres();
  await using keys = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    () => Response.json(suiteKeys),
  );
  const keysUrl = `http://127.0.0.1:${keys.addr.port}/keys`;
  let failures = 0;
  for (const [name, run] of Object.entries(runtimes)) {
    if (names.length > 0 && !names.includes(name)) continue;
    await using folder = await guardedFolder("svc_runtime_");
    const place: Place = { folder: folder.path, server, keysUrl };
    const outcome = await within(run(place)).catch((error): Outcome => ({
      version: "",
      report: { passed: 0, failed: [`${error?.stack ?? error}`], skipped: [] },
    }));
    console.log(line(name, outcome));
    for (const failure of outcome.report?.failed ?? []) {
      failures++;
      console.log(`  ${failure}`);
    }
  }
  return failures === 0 ? 0 : 1;
}

/** Rejects when a runtime takes too long: one that hangs must not stop the others. */
async function within(outcome: Promise<Outcome>): Promise<Outcome> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("no end after five minutes")), 300_000);
  });
  return await Promise.race([outcome, late]).finally(() => clearTimeout(timer));
}

function line(name: string, { version, report, reason, note }: Outcome): string {
  if (report === undefined) return `${name}: skipped: ${reason}`;
  const { passed, failed, skipped } = report;
  const left = skipped.length === 0 ? "" : `, not possible: ${skipped.join(", ")}`;
  const measured = note === undefined ? "" : `, ${note}`;
  return `${name} ${version}: ${passed} passed, ${failed.length} failed${left}${measured}`;
}

Deno.exit(await main(Deno.args));
