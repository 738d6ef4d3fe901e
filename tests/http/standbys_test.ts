/**
 * Reads on real standbys, which lag, stop and are promoted. The last row ends the primary.
 */
import { ReplicaStage } from "../support/database/replica_stage.ts";
import { isChosen } from "../support/runner/row_filter.ts";
import { bookmarks } from "./standbys/bookmarks.ts";
import { damages } from "./standbys/damages.ts";
import { routing } from "./standbys/routing.ts";

Deno.test("[pg] standbys", async (context) => {
  await using stage = await ReplicaStage.start();
  const api = await stage.open();
  for (const [name, run] of [...routing, ...bookmarks, ...damages]) {
    if (!isChosen(name)) continue;
    const fn = () => run({ stage, api });
    await context.step({ name, fn, sanitizeOps: false, sanitizeResources: false });
  }
});
