import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type ApiCall, codeOf, sharedCall } from "../../../../../src/wings/console/pages/code.ts";

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
const context = { url: "http://localhost:3000", hasToken: false };

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

const calls: readonly (readonly [label: string, call: ApiCall])[] = [
  ["a read", read],
  ["a change", change],
];

for (const [label, call] of calls) {
  Deno.test(`codeOf() writes fetch code that sends ${label}`, async () => {
    const sent: Request[] = [];
    const code = codeOf(call, "fetch", { ...context, hasToken: true });
    const run = new Function("fetch", "token", `return (async () => { ${code} })();`);
    const record = (url: string, init: RequestInit) => {
      sent.push(new Request(url, init));
      return Promise.resolve(Response.json([]));
    };
    await run(record, "secret");
    const [request] = sent;
    strictEqual(request!.method, call.method);
    strictEqual(request!.url, `${context.url}/${call.path}?${call.query}`);
    strictEqual(request!.headers.get("Authorization"), "Bearer secret");
    strictEqual(await request!.text(), call.body ?? "");
  });
}

Deno.test("sharedCall() leaves out what serves the pager, and keeps what a reader chose", () => {
  const page = {
    ...read,
    query: "length=gt.100&limit=50&after=",
    headers: [["Prefer", "count=planned"]] as const,
  };
  deepStrictEqual(sharedCall(page), { ...read, query: "length=gt.100&limit=50", headers: [] });
  const kept = {
    ...read,
    query: "limit=50&after=W1",
    headers: [["Prefer", "count=exact"]] as const,
  };
  deepStrictEqual(sharedCall(kept), kept);
  deepStrictEqual(sharedCall(change), change);
});
