/** The workers of the page on queues, in shell and in Python: no job is lost, and none has two workers. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { join } from "node:path";
import { examples } from "../../src/process/cli/examples.ts";
import { engines } from "../support/database/engines.ts";
import { type PostgresClient, withClient } from "../support/database/postgres_client.ts";
import { codeBlocks, root } from "../support/docs/markdown.ts";
import { signToken, testSecret } from "../support/handler/token.ts";
import { findProgram } from "../support/server/find_program.ts";
import { killFamily } from "../support/server/kill_family.ts";
import { type DenoProcess, startCommand, startService } from "../support/server/process.ts";
import { eventually } from "../support/timing/eventually.ts";

const jobCount = 80;
const workersOfKind = 2;
const killedWorkers = 2;
const path = "docs/how-to/make-a-queue-of-a-table.md";
/** Leases as long as the test waits for the jobs of killed workers. */
const lease = [["'+5 minutes'", "'+6 seconds'"], ["minutes=5", "seconds=6"]] as const;

/**
 * A journal of claims and ends, which refuses a claim of a job that has a worker, and a second end. The end of
 * the job `trap` waits for a lock in its first attempts, so that its worker can be killed with it.
 */
const journal = `
  create table app.claims (job int, attempt int, primary key (job, attempt));
  create table app.ends (job int primary key);
  create function app.record() returns trigger language plpgsql security definer as $$
  begin
    if new.attempts > old.attempts then
      if old.state = 'taken' and old.until >= now() then raise 'job % has two workers', old.id; end if;
      insert into app.claims values (new.id, new.attempts);
    elsif new.state = 'done' then
      if new.kind = 'trap' and new.attempts <= ${killedWorkers} then
        perform pg_advisory_xact_lock(7);
      end if;
      insert into app.ends values (new.id);
    end if;
    return new;
  end $$;
  create trigger record before update on api.jobs for each row execute function app.record();
  delete from api.jobs;
  insert into api.jobs (kind, payload, priority)
  select 'work', json_build_object('number', n), 0 from generate_series(2, ${jobCount}) n;
  insert into api.jobs (kind, payload, priority) values ('trap', '{"kind": "trap"}', 1);
`;

async function workerTexts(origin: string): Promise<ReadonlyMap<string, string>> {
  const text = await Deno.readTextFile(join(root, path));
  const found = codeBlocks({ path, text }).filter(({ text }) => /^while /m.test(text));
  return new Map(found.map(({ language, text }) => [
    language,
    [["http://localhost:3000", origin] as const, ...lease].reduce(
      (changed, [from, to]) => changed.replace(from, to),
      text,
    ),
  ]));
}

async function count(client: PostgresClient, from: string): Promise<number> {
  const { rows } = await client.query(`select count(*)::int as n from ${from}`);
  return Number(rows[0]!.n);
}

const programs = ["sh", "jq", "curl", "python3", "ps"];

Deno.test({
  name: "the workers of the page on queues do each job, and lose none when two are killed",
  ignore: programs.some((name) => findProgram(name) === null),
  async fn() {
    const database = await engines.pg({ name: "examples/shop/shop.sql", roles: [] });
    try {
      await withClient(database.superuserUri!, async (admin) => {
        await admin.query(journal);
        await admin.query("select pg_advisory_lock(7)");
        await using service = await startService({
          "db-uri": database.uri,
          "db-schemas": "api",
          "db-anon-role": "web_anon",
          "jwt-secret": testSecret,
          "log-level": "crit",
        });
        await service.listening();
        const texts = await workerTexts(service.origin);
        deepStrictEqual([...texts.keys()], ["sh", "python"]);
        const env = {
          STAFF: await signToken(examples.get("shop")!.tokens.STAFF!),
          PYTHONUNBUFFERED: "1",
        };
        const commands = [["sh", "-c", texts.get("sh")!], ["python3", "-c", texts.get("python")!]];
        const workers = Array.from(
          { length: workersOfKind },
          () => commands.map((command) => startCommand(command as [string, ...string[]], { env })),
        ).flat();
        try {
          await killTrapped(workers, admin);
          await eventually(
            "all jobs are done",
            async () => await count(admin, "app.ends") === jobCount,
          );
        } finally {
          for (const { pid } of workers) await killFamily(pid);
          for (const worker of workers) await worker[Symbol.asyncDispose]();
        }
        strictEqual(await count(admin, "api.jobs where state = 'done'"), jobCount);
        const trapClaims = "app.claims join api.jobs on id = job where kind = 'trap'";
        ok(await count(admin, trapClaims) > killedWorkers);
        const errors = workers.flatMap(({ stderr }) => stderr.all);
        ok(!errors.some((line) => /two workers|duplicate/.test(line)), errors.join("\n"));
      });
    } finally {
      await database.remove();
    }
  },
});

/** Kills the worker that waits at the end of the trap, until the job ends. */
async function killTrapped(workers: readonly DenoProcess[], admin: PostgresClient): Promise<void> {
  const killed = new Set<DenoProcess>();
  while (killed.size < killedWorkers) {
    const waits =
      "pg_locks where locktype = 'advisory' and objid = 7 and not granted and database =" +
      " (select oid from pg_database where datname = current_database())";
    await eventually(
      "a worker is at the end of the trap",
      async () => await count(admin, waits) > 0,
    );
    const isTrapped = (worker: DenoProcess) =>
      !killed.has(worker) && worker.stdout.all.some((line) => line.includes("trap"));
    await eventually("its line is read", () => workers.some(isTrapped));
    const worker = workers.find(isTrapped)!;
    await killFamily(worker.pid);
    killed.add(worker);
    // The service lets writes of clients that have left run to their end.
    await admin.query(`select pg_cancel_backend(pid) from ${waits}`);
    await eventually("its request ends", async () => await count(admin, waits) === 0);
  }
}
