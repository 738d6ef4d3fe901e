/** Checks the answers to the requests of a case before the measurement. @module */
import { deepStrictEqual } from "node:assert/strict";
import { buildRequest } from "../../tests/support/handler/request.ts";
import type { LoadCase } from "./cases.ts";
import { floorBodies } from "./floor.ts";
import type { BenchServer } from "./servers.ts";
import { type Draw, fillTemplate, spreadDraws } from "./template.ts";
import { headersOf } from "./wrk.ts";

/** Number of requests to each server. */
const requestCount = 5;

/** Options of {@linkcode probe}. */
export interface ProbeOptions {
  readonly servers: readonly BenchServer[];
  /** Connection string of the database, for the hand-written statement. */
  readonly uri: string;
  /** Restores the tables to their state before a run. */
  readonly reset: () => Promise<void>;
}

/** Throws an `Error` unless all servers return the status of the case and the JSON of its statement. */
export async function probe(
  each: LoadCase,
  { servers, uri, reset }: ProbeOptions,
): Promise<void> {
  const draws = spreadDraws(each.request.users, requestCount);
  await reset();
  const expected = await floorBodies(each, { uri, draws });
  for (const server of servers) {
    await reset();
    const bodies: unknown[] = [];
    for (const draw of draws) bodies.push(await bodyFrom(server, each, draw));
    deepStrictEqual(bodies, expected, `${each.name}: ${server.name} differs from the floor`);
  }
}

/** Sends the request of a case, and returns the JSON of the answer. Throws an `Error` for another status. */
export async function bodyFrom(
  { origin, name: server }: BenchServer,
  { name, request, status }: Pick<LoadCase, "name" | "request" | "status">,
  draw: Draw,
): Promise<unknown> {
  const headers = Object.fromEntries(
    Object.entries(headersOf(request)).map(([key, value]) => [key, fillTemplate(value, draw)]),
  );
  const line = fillTemplate(request.line, draw);
  const parts = { headers, body: request.body };
  const response = await fetch(await buildRequest({ line, origin }, parts));
  const text = await response.text();
  if (response.status !== status) {
    throw new Error(`${name}: ${server} answers ${response.status} in place of ${status}: ${text}`);
  }
  return text === "" ? null : JSON.parse(text);
}
