/**
 * Answers of many rows that end early, or are read slowly, by the way in which connections are kept.
 */
import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import type { Observation } from "../../mod.ts";
import { type Api, serviceSuite } from "../support/handler/api.ts";

/** Answers whose rows cannot all be sent. */
const failures: readonly (readonly [
  name: string,
  line: string,
  error: { readonly code: string; readonly message: string },
])[] = [
  ["an error", "/grades", { code: "22003", message: "no such grade" }],
  ["a statement timeout", "/sleepy_grades", {
    code: "57014",
    message: "canceling statement due to statement timeout",
  }],
];

const types = ["application/json", "application/x-ndjson", "text/csv"];

for (
  const [title, options] of [
    ["a pool of one connection", { dbPool: 1 }],
    ["a pool of one, without files", { dbPool: 1, serverSpoolSize: 0 }],
    ["a connection per request", { connections: "per-request" }],
  ] as const
) {
  const events: Observation[] = [];
  const suite = serviceSuite("rows_form", {
    dbSchemas: ["api"],
    dbAnonRole: "anon",
    dbStatementTimeout: 6,
    observe: (event) => void events.push(event),
    ...options,
  }, { title: `the end of many rows, with ${title}` });

  for (const [name, line, error] of failures) {
    suite.test(`${name} aborts the body, and is logged`, async (api) => {
      const response = await send(api, line, types[0]!);
      strictEqual(response.status, 200);
      await rejects(response.text());
      const aborted = events.splice(0).filter(({ kind }) => kind === "response-aborted");
      deepStrictEqual(aborted, [{
        kind: "response-aborted",
        method: "GET",
        target: line,
        error: { ...error, details: null, hint: null },
      }]);
      await answersOther(api);
    });
  }

  for (const type of types) {
    suite.test(`a client that leaves ${type} keeps no connection`, async (api) => {
      const response = await send(api, "/heavy", type);
      const reader = response.body!.getReader();
      await reader.read();
      await reader.cancel();
      await answersOther(api);
      deepStrictEqual(events.splice(0).filter(({ kind }) => kind === "response-aborted"), []);
    });

    suite.test(`a client that reads ${type} late gets all of it`, async (api) => {
      const response = await send(api, "/heavy", type);
      const reader = response.body!.getReader();
      let bytes = (await reader.read()).value!.length;
      if (!("serverSpoolSize" in options)) await answersOther(api);
      for (let chunk; (chunk = await reader.read()).done === false;) bytes += chunk.value.length;
      ok(bytes > 15_000_000, `${bytes} bytes`);
      await answersOther(api);
    });
  }
}

function send({ handler }: Api, path: string, type: string): Promise<Response> {
  return handler(new Request(`http://x${path}`, { headers: { Accept: type } }));
}

async function answersOther(api: Api): Promise<void> {
  const response = await api("GET /numbers?id=eq.1&select=id");
  strictEqual(await response.text(), '[{"id":1}]');
}
