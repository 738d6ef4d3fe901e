/** Random transactions, each of which leaves the sum of accounts as it is. @module */
import pg from "pg";
import { delay } from "../../../support/timing/delay.ts";
import type { Random } from "../../../support/timing/random.ts";
import { realms, statuses, subjects, teams } from "./schema.ts";

export interface WriteCountsOfLive {
  committed: number;
  refused: number;
}

type Write = (random: Random) => string;

const item = (random: Random) => 1 + random.below(200);

const writes: readonly Write[] = [
  (r) =>
    `insert into api.items values (${item(r)}, ${r.pick(realms)}, '${r.pick(subjects)}', ${
      r.pick(teams)
    }, '${r.pick(statuses)}', ${r.below(100)}) on conflict (id) do update set
      realm = excluded.realm, owner = excluded.owner, status = excluded.status`,
  (r) => `update api.items set owner = '${r.pick(subjects)}' where id = ${item(r)}`,
  (r) => `update api.items set status = '${r.pick(statuses)}' where id = ${item(r)}`,
  (r) => `update api.items set amount = ${r.below(100)} where id = ${item(r)}`,
  (r) =>
    `update api.items set team = ${r.pick(teams)}, realm = ${r.pick(realms)} where id = ${item(r)}`,
  (r) => `update api.items set hidden = not hidden where id % 10 = ${r.below(10)}`,
  (r) => `delete from api.items where id = ${item(r)}`,
  (r) =>
    `insert into api.notes select ${r.below(100_000)}, i.realm, i.id, 'note ${r.below(100)}'
      from api.items i where i.id = ${item(r)} on conflict do nothing`,
  (r) =>
    `update api.notes set text = 'note ${r.below(100)}', hidden = false where item = ${item(r)}`,
  (r) => `update api.notes set hidden = true where item = ${item(r)}`,
  (r) => `delete from api.notes where id % 50 = ${r.below(50)}`,
  (r) =>
    `insert into api.members values (${r.pick(teams)}, '${
      r.pick(subjects)
    }') on conflict do nothing`,
  (r) => `delete from api.members where team = ${r.pick(teams)} and sub = '${r.pick(subjects)}'`,
  (r) => `update api.teams set title = 'team ${r.below(100)}' where id = ${r.pick(teams)}`,
  transfer,
  transfer,
  (r) => `begin; savepoint s; ${transfer(r)}; rollback to s; ${transfer(r)}; commit`,
  (r) => `begin; ${transfer(r)}; delete from api.items where id % 3 = 0; rollback`,
];

/** Rare, since it empties the table. */
const truncation = "truncate api.notes";

function transfer(random: Random): string {
  const realm = random.below(3);
  const [from, to, sum] = [random.below(3), random.below(3), random.below(100)];
  const add = (index: number, amount: number) =>
    `update api.accounts set balance = balance + ${amount} where id = ${3 * index + 1 + realm}`;
  const both = [add(from, -sum), add(to, sum)];
  return random.below(2) === 0 ? `do $$ begin ${both.join("; ")}; end $$` : `with a as (
    select ${3 * from + 1 + realm} as id, -${sum} as d union all select ${
    3 * to + 1 + realm
  }, ${sum}
  ) update api.accounts c set balance = balance + s.d
    from (select id, sum(d) as d from a group by id) s where c.id = s.id`;
}

/** Writes until `next` returns false. Connects again when the connection is lost. */
export async function writeRandomly(
  uri: string,
  random: Random,
  counts: WriteCountsOfLive,
  next: () => boolean,
): Promise<void> {
  let isOpen = true;
  while (isOpen) {
    await withLossyClient(uri, async (client) => {
      while ((isOpen = next())) {
        const sql = random.below(400) === 0 ? truncation : random.pick(writes)(random);
        try {
          await client.query(sql);
          counts.committed++;
        } catch (error) {
          counts.refused++;
          // A deadlock, or a key that is gone.
          if (!/^(?:40|23)/.test(String((error as { code?: unknown }).code))) throw error;
          await client.query("rollback");
        }
      }
    }).catch(() => delay(20));
  }
}

/** Lends a connection, whose loss rejects the query that waits. */
export async function withLossyClient<Result>(
  uri: string,
  use: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: uri });
  client.on("error", () => {});
  try {
    await client.connect();
    return await use(client);
  } finally {
    await client.end().catch(() => {});
  }
}
