/** Reads with bookmarks while standbys lag. @module */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import {
  bookmarkOf,
  place,
  portOf,
  type ReplicaApi,
  type ReplicaStage,
} from "../../support/database/replica_stage.ts";
import { eventually } from "../../support/timing/eventually.ts";
import { noteLine, readOwn, type Step, writeNote } from "./step.ts";

export const bookmarks: readonly Step[] = [
  [
    "a read with a bookmark uses the primary when replay is paused",
    ({ stage, api }) =>
      stage.whilePaused(async () => {
        const note = await writeNote(api);
        match(note.bookmark, /^[0-9A-F]{1,8}-[0-9A-F]{16}$/);
        strictEqual(await readOwn(api, note), stage.cluster.primary.port);
        const stale = await api(noteLine(note.id));
        deepStrictEqual(await stale.json(), []);
      }),
  ],
  ["a read with a bookmark uses the standby that is not behind", async ({ stage, api }) => {
    const [first, second] = stage.cluster.standbys;
    await stage.whilePaused(async () => {
      const note = await writeNote(api);
      await stage.cluster.replayed([second!]);
      await eventually("reads from the second standby", async () => {
        const reads = Array.from({ length: 8 }, () => readOwn(api, note));
        return (await Promise.all(reads)).every((port) => port === second!.port);
      });
    }, [first!]);
  }],
  ...[
    ["malformed", "nonsense"],
    ["too long", "0".repeat(5000)],
    ["in an attack", "1-0000000000000000'; drop table api.notes; --"],
    ["of the future", "1-00000FFF00000000"],
    ["of another timeline", "7F-0000000000000000"],
  ].map(([title, bookmark]): Step => [
    `a bookmark that is ${title} leads to the primary`,
    async ({ stage, api }) => {
      const response = await api(place, { bookmark: bookmark! });
      strictEqual(await portOf(response), stage.cluster.primary.port);
      match(bookmarkOf(response), /^1-[0-9A-F]{16}$/);
    },
  ]),
  [
    "the header of the other dialect is not read",
    ({ stage, api }) =>
      stage.whilePaused(async () => {
        const { id, bookmark } = await writeNote(api);
        const response = await api(noteLine(id), { headers: { "Pgrst-Bookmark": bookmark } });
        deepStrictEqual(await response.json(), []);
        strictEqual(response.headers.has("Pgrst-Bookmark"), false);
      }),
  ],
  ["a bookmark behind the header of a page is reached on an idle standby", async (fixture) => {
    const { stage, api } = fixture;
    await stage.cluster.execute(stage.cluster.primary, "select pg_switch_wal()");
    const { port } = stage.cluster.primary;
    const headers = { Prefer: "read=primary" };
    const switched = await api(place, { headers, bookmark: "nonsense" });
    strictEqual(await portOf(switched), port);
    const bookmark = bookmarkOf(switched);
    await eventually("a read from a standby", async () => {
      return stage.isStandby(await portOf(await api(place, { bookmark })));
    });
  }],
  [
    "synchronous_commit = off makes no read stale",
    ({ api }) => readOwnRows(api, "hurried"),
  ],
  [
    "REPEATABLE READ makes no read stale",
    ({ stage, api }) => whileDelayed(stage, () => readOwnRows(api, "repeater")),
  ],
  ["reads with bookmarks never go back in time", async ({ stage, api }) => {
    const { standbys } = stage.cluster;
    const ports = new Set<number>();
    let [newest, bookmark] = [0, (await writeNote(api)).bookmark];
    const readNewest = async () => {
      const response = await api("GET /newest", { bookmark });
      const [row] = await response.json();
      ok(row.id >= newest, `${row.id} of ${row.port} after ${newest}`);
      [newest, bookmark] = [row.id, bookmarkOf(response)];
      ports.add(row.port);
    };
    for (const behind of standbys) {
      await stage.whilePaused(async () => {
        for (let round = 0; round < 10; round++) {
          const written = await writeNote(api);
          await readNewest();
          bookmark = written.bookmark;
          await readNewest();
        }
      }, [behind]);
      const other = standbys.find((standby) => standby !== behind)!;
      await eventually("a read from the standby ahead", async () => {
        await readNewest();
        return ports.has(other.port);
      });
    }
  }],
];

/** Writes and reads the own row, again and again. */
async function readOwnRows(api: ReplicaApi, as: string): Promise<void> {
  for (let pair = 0; pair < 20; pair++) await readOwn(api, await writeNote(api, as), as);
}

/** Runs `work` while the standbys lag, each by another time. */
async function whileDelayed({ cluster }: ReplicaStage, work: () => Promise<void>): Promise<void> {
  const [first, second] = cluster.standbys;
  await cluster.delayReplay(first!, 5);
  await cluster.delayReplay(second!, 30);
  await work();
  for (const standby of cluster.standbys) await cluster.delayReplay(standby, 0);
  await cluster.replayed();
}
