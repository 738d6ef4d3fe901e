/** Measures the cost of bookmarks: inserts with and without replicas, and reads on a standby that
 * verify a position or do not. @module */
import { startPostgres } from "../../tests/support/database/postgres_server.ts";
import type { Bench } from "./bench.ts";
import { type ConfigGroup, measureGroups } from "./config_contest.ts";
import { quietSettings } from "./fixture.ts";
import { postmasterOf } from "./measure.ts";
import { note, rowByKey } from "./cases.ts";

/** A position that each server has reached. */
const oldBookmark = { "Svc-Bookmark": "1-0000000000000001" };

/** Returns a table for each request that the options select, with a standby of the bench's server. */
export async function measureReplicas(bench: Bench): Promise<string> {
  await using standby = await startPostgres({
    settings: quietSettings,
    standbyOf: bench.postgres,
  });
  const replicas = { "db-replica-uri": standby.uri({ user: "authenticator", password: "p" }) };
  const groups: readonly ConfigGroup[] = [
    {
      name: "insert",
      request: {
        line: "POST /notes",
        headers: { "Content-Type": "application/json", Prefer: "return=minimal" },
        body: JSON.stringify(note),
      },
      cases: [
        { name: "no replicas", config: {} },
        { name: "a replica, with bookmark", config: replicas },
      ],
    },
    {
      name: "row by key on a standby",
      request: rowByKey.request,
      cases: [
        { name: "no bookmark", config: replicas },
        { name: "bookmark", config: replicas, headers: oldBookmark },
      ],
    },
    {
      name: "row by key on the primary",
      request: rowByKey.request,
      cases: [
        { name: "no replicas", config: {} },
        {
          name: "read=primary with bookmark",
          config: replicas,
          headers: { ...oldBookmark, Prefer: "read=primary" },
        },
      ],
    },
  ];
  // The copy for the standby has halted the primary, which is another process now.
  const postmaster = await postmasterOf(bench.postgres.folder);
  return await measureGroups(groups, { ...bench, postmaster });
}
