/** The smallest program that answers the requests of a case. For each request, it sends the
 * hand-written statement, reads PostgreSQL's answer, and responds with constant bytes. Its arguments
 * are a configuration file and the name of a case. @module */
import { openBareConnection } from "./bare_connection.ts";
import { makeUsers } from "./fixture.ts";
import { floorBodies, preparedTransactions } from "./floor.ts";
import { caseNamed } from "./cases.ts";
import { drawAtRandom } from "./template.ts";

const [path = "", name] = Deno.args;
const config = await Deno.readTextFile(path);
const [, port] = /server-port *= *"?(\d+)/.exec(config) ?? [];
const [, uri = ""] = /db-uri *= *"([^"]+)/.exec(config) ?? [];
const [, pool] = /db-pool *= *"?(\d+)/.exec(config) ?? [];

const users = await makeUsers();
const each = caseNamed(name!, users);
const { preparation, transactions } = preparedTransactions(each);
const connections = await Promise.all(
  Array.from({ length: Number(pool) }, async () => {
    const connection = await openBareConnection(uri);
    const first = [preparation];
    await connection.pipeline(() => first.pop() ?? null, 1);
    return connection.asker();
  }),
);
const [answer] = each.reset === undefined
  ? await floorBodies(each, { uri, draws: [drawAtRandom(each.request.users)] })
  : [each.request.body];
const body = new TextEncoder().encode(JSON.stringify(answer));
const headers = { "Content-Type": "application/json; charset=utf-8" };

let turn = 0;
Deno.serve({ port: Number(port), hostname: "127.0.0.1", onListen() {} }, async (request) => {
  if (request.body !== null) await request.bytes();
  turn++;
  const ask = connections[turn % connections.length]!;
  await ask(transactions[turn % transactions.length]!);
  return new Response(body, { headers });
});
