/** The floor of a case: the time of PostgreSQL alone for the hand-written statement, in a transaction
 * with the search path, the role and the claims of the request. One connection pipelines the
 * transactions, each with a Sync. @module */
import { type PostgresClient, withClient } from "../../tests/support/database/postgres_client.ts";
import {
  type BareConnection,
  concat,
  executeMessages,
  openBareConnection,
  parseMessage,
  syncMessage,
} from "./bare_connection.ts";
import type { LoadCase } from "./cases.ts";
import { anonymousRole, userRole } from "./fixture.ts";
import { type LoadFigures, startUsage } from "./measure.ts";
import { type Draw, drawAtRandom, fillTemplate } from "./template.ts";

/** The settings of a request's transaction. */
const settingsText = "select set_config('search_path', $1, true), set_config('role', $2, true), " +
  "set_config('request.jwt.claims', $3, true)";

function settingsParams({ user }: Draw): readonly string[] {
  const role = user === null ? anonymousRole : userRole;
  return ["api, public", role, user?.claims ?? JSON.stringify({ role })];
}

function statementParams({ floor }: LoadCase, draw: Draw): readonly string[] {
  return floor.params.map((param) => fillTemplate(param, draw));
}

/** Runs the statement once for each draw. Returns the bodies; null if the statement has no columns. */
export async function floorBodies(
  each: LoadCase,
  { uri, draws }: { readonly uri: string; readonly draws: readonly Draw[] },
): Promise<readonly unknown[]> {
  return await withClient(uri, async (client) => {
    const bodies: unknown[] = [];
    for (const draw of draws) {
      await client.query("begin");
      await takeRole(client, draw);
      const { rows } = await client.query(each.floor.text, [...statementParams(each, draw)]);
      await client.query("commit");
      bodies.push(Object.values(rows[0] ?? {})[0] ?? null);
    }
    return bodies;
  });
}

/** Makes the settings of a request in a transaction. */
export async function takeRole(client: PostgresClient, draw: Draw): Promise<void> {
  await client.query(settingsText, [...settingsParams(draw)]);
}

/** Number of different transactions, which are sent in turn. */
const variety = 1000;

/** A connection that has the statements of a case prepared. */
export interface Floor extends AsyncDisposable {
  measure(options: FloorOptions): Promise<LoadFigures>;
}

/** How a floor is measured. */
export interface FloorOptions {
  readonly postmaster: number;
  readonly inFlight: number;
  readonly seconds: number;
}

/** Connects, and prepares the statements of a case. */
export async function openFloor(each: LoadCase, uri: string): Promise<Floor> {
  const connection = await openBareConnection(uri);
  const { preparation, transactions } = preparedTransactions(each);
  const first = [preparation];
  await connection.pipeline(() => first.pop() ?? null, 1);
  return {
    measure: (options) => measureFloor({ connection, transactions }, options),
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
}

/** Returns the messages that prepare the statements of a case, and transactions that run them. */
export function preparedTransactions(each: LoadCase): {
  readonly preparation: Uint8Array;
  readonly transactions: readonly Uint8Array[];
} {
  const draws = Array.from({ length: variety }, () => drawAtRandom(each.request.users));
  return {
    preparation: preparationMessages(each, draws[0]!),
    transactions: draws.map((draw) => transactionMessages(each, draw)),
  };
}

/** Prepares all statements. Executes the settings first, because PostgreSQL resolves the names of the
 * hand-written statement when it parses it. */
function preparationMessages({ floor }: LoadCase, draw: Draw): Uint8Array {
  return concat([
    parseMessage("begin", "begin"),
    parseMessage("settings", settingsText),
    parseMessage("commit", "commit"),
    executeMessages("begin", []),
    executeMessages("settings", settingsParams(draw)),
    parseMessage("statement", floor.text),
    executeMessages("commit", []),
    syncMessage,
  ]);
}

function transactionMessages(each: LoadCase, draw: Draw): Uint8Array {
  return concat([
    executeMessages("begin", []),
    executeMessages("settings", settingsParams(draw)),
    executeMessages("statement", statementParams(each, draw)),
    executeMessages("commit", []),
    syncMessage,
  ]);
}

async function measureFloor(
  { connection, transactions }: {
    readonly connection: BareConnection;
    readonly transactions: readonly Uint8Array[];
  },
  { postmaster, inFlight, seconds }: FloorOptions,
): Promise<LoadFigures> {
  const usage = await startUsage(postmaster);
  const began = performance.now();
  let turn = 0;
  const next = () =>
    performance.now() - began > seconds * 1000 ? null : transactions[turn++ % variety]!;
  const count = await connection.pipeline(next, inFlight);
  const elapsed = performance.now() - began;
  const { postgresCpu, otherLoad } = await usage.used();
  return {
    perSecond: count / elapsed * 1000,
    postgresCpu: postgresCpu / count,
    otherLoad,
    p50: NaN,
    p99: NaN,
    cpu: NaN,
    peakMemory: NaN,
    failed: 0,
  };
}
