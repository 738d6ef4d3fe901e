/** The service is asked to end while clients read and insert over keep-alive connections, and one
 * reads a long answer slowly: every request is answered whole, and the last answer of a connection
 * says that it is the last. @module */
import { Ledger } from "./ledger.ts";
import { type Books, startLoad } from "./load.ts";
import { openPlace, password, portOf, startOn } from "./place.ts";
import { type FaultReport, type Scale, writeProblems } from "./report.ts";
import { isWhole, longRows, openSlowly } from "./slow_body.ts";
import { Tally } from "./tally.ts";

const sizes = {
  short: { rounds: 2, clients: 16, answers: 200 },
  full: { rounds: 20, clients: 32, answers: 1000 },
} as const;

/** Rows of the long answer. */
const longAnswer = 8000;

/** Runs the fault. */
export async function shutDownUnderLoad(scale: Scale): Promise<FaultReport> {
  const { rounds } = sizes[scale];
  await using place = await openPlace({ sql: longRows });
  const uri = place.server.uri({ user: "authenticator", password });
  const books: Books = { tally: new Tally(), ledger: new Ledger() };
  let slowest = 0;
  for (let round = 0; round < rounds; round++) {
    slowest = Math.max(slowest, await shutDown(uri, books, sizes[scale]));
  }
  const writes = await place.asOwner((client) => books.ledger.compare(client));
  return {
    fault: `SIGTERM to ${rounds} services`,
    requests: books.tally.counts,
    writes,
    figures: {
      "slowest end, after a long answer that is read slowly,": `${Math.round(slowest)} ms`,
    },
    problems: [...books.tally.problems, ...writeProblems(writes)],
  };
}

/** Gives the milliseconds that it took the service to end. */
async function shutDown(
  uri: string,
  books: Books,
  { clients, answers }: { readonly clients: number; readonly answers: number },
): Promise<number> {
  await using service = await startOn(uri);
  const load = startLoad({ port: portOf(service), clients, endsWhenClosed: true, books });
  const readLong = await openSlowly(`${service.origin}/rows?limit=${longAnswer}`);
  await load.progress(answers);
  const began = performance.now();
  service.signal("SIGTERM");
  if (!isWhole(await readLong(), longAnswer)) books.tally.problem("long answer cut short");
  const { code } = await service.status;
  if (code !== 0) books.tally.problem(`exit status ${code}`);
  await load.ended;
  return performance.now() - began;
}
