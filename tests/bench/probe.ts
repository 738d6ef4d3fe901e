/**
 * Sends a case's request once and looks at the answer, so that nothing wrong is measured.
 *
 * @module
 */
import { deepStrictEqual } from "node:assert/strict";
import { buildRequest } from "../support/request.ts";
import type { LoadCase } from "./cases.ts";
import type { BenchServer } from "./servers.ts";
import { drawnLine, headersOf } from "./wrk.ts";

/** Raises an `Error` unless all servers give the status of the case and the same JSON. */
export async function probe(
  { name, request, status }: LoadCase,
  servers: readonly BenchServer[],
): Promise<void> {
  const answers = [];
  for (const { origin, name: server } of servers) {
    const parts = { headers: headersOf(request, request.tokens?.[0] ?? ""), body: request.body };
    const response = await fetch(
      await buildRequest({ line: drawnLine(request, 0), origin }, parts),
    );
    const text = await response.text();
    if (response.status !== status) {
      throw new Error(
        `${name}: ${server} answers ${response.status} in place of ${status}: ${text}`,
      );
    }
    answers.push(text === "" ? null : JSON.parse(text));
  }
  for (const other of answers.slice(1)) deepStrictEqual(other, answers[0], `${name} differs`);
}
