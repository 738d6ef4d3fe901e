/**
 * The disk of a table is full while others are read and written: inserts into it are refused with
 * 503, the rest goes on, and so do those inserts when there is room again.
 *
 * Where no disk can be mounted, a function copies to `/dev/full` after its insert, of which
 * PostgreSQL says the same.
 *
 * @module
 */
import { join } from "node:path";
import { HttpConnection } from "../../support/clients/http_connection.ts";
import { smallDisk } from "../../support/database/small_disk.ts";
import { Ledger } from "./ledger.ts";
import { type Books, insertBy, startLoad, type Turn } from "./load.ts";
import { openPlace, type Place } from "./place.ts";
import { addRequests, type FaultReport, type Scale, writeProblems } from "./report.ts";
import { Tally } from "./tally.ts";

const sizes = { short: { refusals: 20, clients: 4 }, full: { refusals: 500, clients: 8 } } as const;

/** Bytes of the disk; what is taken away of them when there shall be room; and of a row. */
const [diskMegabytes, ballastBytes, noteLength] = [2, 1_000_000, 4000];

/** A disk, and inserts into a table on it. */
interface FullDisk {
  readonly name: string;
  readonly insert: Turn;
  /** Makes room; null where it stays full. */
  readonly makeRoom: (() => Promise<void>) | null;
}

/** Runs the fault. */
export async function fullDisk(scale: Scale): Promise<FaultReport> {
  const { refusals, clients } = sizes[scale];
  await using resources = new AsyncDisposableStack();
  const mounted = resources.use(await smallDisk(diskMegabytes));
  const place = resources.use(await openPlace());
  const disk = await (mounted === null ? fullDevice(place) : tableOn(mounted.path, place));
  const ledger = new Ledger();
  const others: Books = { tally: new Tally(), ledger };
  const doomed: Books = {
    tally: new Tally((status, code) => status === 503 && code === "53100"),
    ledger,
  };
  const load = startLoad({ port: place.port, clients, books: others });
  await insertUntil({ kind: "refused", times: refusals }, disk.insert, place, doomed);
  if (disk.makeRoom !== null) {
    await disk.makeRoom();
    await insertUntil({ kind: "accepted", times: 1 }, disk.insert, place, doomed);
  }
  await load.progress(refusals);
  await load.stop();
  const writes = await place.asOwner((client) => ledger.compare(client));
  return {
    fault: `disk full (${disk.name})`,
    requests: addRequests(others.tally.counts, doomed.tally.counts),
    writes,
    figures: {},
    problems: [...others.tally.problems, ...doomed.tally.problems, ...writeProblems(writes)],
  };
}

/** Inserts, one row after the other, until it has been refused or accepted so many times. */
async function insertUntil(
  { kind, times }: { readonly kind: "refused" | "accepted"; readonly times: number },
  insert: Turn,
  { port }: Place,
  books: Books,
): Promise<void> {
  using connection = await HttpConnection.connect(port);
  for (let met = 0; met < times;) {
    const answer = await insert(connection, books);
    if (answer === null) return;
    if ((answer.status < 300) === (kind === "accepted")) met++;
  }
}

/** A table on the small disk, with a file there that can be taken away. */
async function tableOn(folder: string, place: Place): Promise<FullDisk> {
  const data = join(folder, "data");
  const ballast = join(folder, "ballast");
  await Deno.mkdir(data);
  const { uid, gid } = await Deno.stat(join(place.server.folder, "data"));
  await Deno.chown(data, uid, gid);
  await Deno.writeFile(ballast, new Uint8Array(ballastBytes));
  await place.asOwner(async (client) => {
    await client.query(`create tablespace small location '${data}'`);
    await client.query(`
      create table api.wide_marks () inherits (api.marks) tablespace small;
      alter table api.wide_marks alter note set storage plain;
      grant insert on api.wide_marks to anon;`);
  });
  await loadSchema(place);
  const body = (mark: number) => ({ mark, note: "x".repeat(noteLength) });
  return {
    name: "tablespace on a separate disk",
    insert: insertBy({ line: "POST /wide_marks", body }),
    makeRoom: () => Deno.remove(ballast),
  };
}

async function fullDevice(place: Place): Promise<FullDisk> {
  await place.asOwner((client) =>
    client.query(`
      create function api.mark_full(mark int) returns void language plpgsql security definer as $$
      begin
        insert into api.marks values (mark_full.mark);
        copy (select repeat('x', 100000)) to '/dev/full';
      end $$;`)
  );
  await loadSchema(place);
  return { name: "/dev/full", insert: insertBy({ line: "POST /rpc/mark_full" }), makeRoom: null };
}

/** Reads the schema again and waits until that is done. */
async function loadSchema({ service }: Place): Promise<void> {
  const after = service.stderr.all.length;
  service.signal("SIGUSR1");
  await service.stderr.waitFor(/Schema cache loaded/i, { after });
}
