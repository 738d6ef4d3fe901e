import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { PostgrestClient } from "@supabase/postgrest-js";
import { type ApiCall, codeOf } from "../../../src/console/code.ts";

const read: ApiCall = {
  method: "GET",
  path: "film",
  query: "select=title,language(name)&length=gt.100&order=title.desc&limit=50&offset=50",
  headers: [],
  body: null,
};
const change: ApiCall = {
  method: "PATCH",
  path: "film",
  query: "film_id=eq.1&select=title",
  headers: [["Prefer", "return=representation"], ["Content-Type", "application/json"]],
  body: `{"title":"it's"}`,
};
const context = { url: "http://localhost:3000", hasToken: false, schema: null };

Deno.test("codeOf() writes a curl command whose words a shell leaves as they are", async () => {
  strictEqual(
    codeOf(read, "curl", context),
    "curl 'http://localhost:3000/film?select=title,language(name)&length=gt.100&order=title.desc" +
      "&limit=50&offset=50'",
  );
  const command = codeOf(change, "curl", { ...context, hasToken: true });
  const { stdout } = await new Deno.Command("sh", {
    args: ["-c", `curl() { printf '%s\\n' "$@"; }; TOKEN=secret; ${command}`],
  }).output();
  deepStrictEqual(new TextDecoder().decode(stdout).trimEnd().split("\n"), [
    "-X",
    "PATCH",
    "http://localhost:3000/film?film_id=eq.1&select=title",
    "-H",
    "Prefer: return=representation",
    "-H",
    "Content-Type: application/json",
    "-H",
    "Authorization: Bearer secret",
    "--data-raw",
    `{"title":"it's"}`,
  ]);
});

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly body: unknown;
  readonly authorization: string | null;
}

/** Runs code with a `fetch` that records the request. */
async function sentBy(code: string): Promise<Sent> {
  const sent: Request[] = [];
  const record = (url: string, init: RequestInit) => {
    sent.push(new Request(url, init));
    return Promise.resolve(Response.json([]));
  };
  class Client extends PostgrestClient {
    constructor(url: string, options: Record<string, unknown> = {}) {
      super(url, { ...options, fetch: record as typeof fetch });
    }
  }
  const body = code.replace(/^import .*\n/, "");
  const run = new Function(
    "fetch",
    "PostgrestClient",
    "token",
    `return (async () => { ${body} })();`,
  );
  await run(record, Client, "secret");
  const [request] = sent;
  const text = await request!.text();
  return {
    method: request!.method,
    url: decodeURIComponent(request!.url.replaceAll("+", " ")),
    body: text === "" ? null : JSON.parse(text),
    authorization: request!.headers.get("Authorization"),
  };
}

const calls: readonly (readonly [label: string, call: ApiCall])[] = [
  ["a read", read],
  ["filters of each kind", {
    ...read,
    query: "select=*&a=ilike.*x%25y*&b=in.(1,%22a,b%22)&c=not.is.null&d=is.true&e=cs.%7B1%7D" +
      "&or=(f.eq.1,g.gt.2)&limit=50",
  }],
  ["a call of a function", {
    ...read,
    method: "POST",
    path: "rpc/add",
    query: "",
    body: '{"a":1,"b":2}',
    headers: [["Content-Type", "application/json"]],
  }],
  ["a call of a stable function", { ...read, path: "rpc/add", query: "a=1&b=2" }],
  ["a change", change],
];

for (const [label, call] of calls) {
  Deno.test(`codeOf() writes fetch and postgrest-js code that sends ${label}`, async () => {
    const expected = {
      method: call.method,
      body: call.body === null ? null : JSON.parse(call.body),
      authorization: "Bearer secret",
    };
    const withToken = { ...context, hasToken: true };
    const { url: fetched, ...byFetch } = await sentBy(codeOf(call, "fetch", withToken));
    deepStrictEqual(byFetch, expected);
    const { url: requested, ...byClient } = await sentBy(codeOf(call, "client", withToken));
    deepStrictEqual(byClient, expected);
    const target = decodeURIComponent(`/${call.path}${call.query === "" ? "" : `?${call.query}`}`);
    const sorted = (url: string) => url.replace(context.url, "").split(/[?&]/).toSorted();
    deepStrictEqual(sorted(fetched), sorted(target));
    const hasColumns = requested.includes("columns=");
    if (!hasColumns) {
      const withoutZero = sorted(requested).filter((part) => part !== "offset=0");
      deepStrictEqual(withoutZero.join(" "), sorted(target).join(" "));
    }
  });
}
