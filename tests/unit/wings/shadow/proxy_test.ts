/** The proxy between a client and an upstream, without sockets. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { deferred } from "../../../../src/base/lib/deferred.ts";
import { isRead, proxyHandler } from "../../../../src/wings/shadow/proxy.ts";
import { Shadow } from "../../../../src/wings/shadow/shadow.ts";
import { Tally } from "../../../../src/wings/shadow/tally.ts";

type Send = (url: string, init: RequestInit) => Promise<Response>;

/** A proxy, and the requests that reach both sides. */
function proxied(
  fetch: Send,
  own: () => Promise<Response> = () => Promise.resolve(json("[1]")),
  isSampled = () => true,
) {
  const sent: { url: string; init: RequestInit }[] = [];
  const repeated: Request[] = [];
  const tally = new Tally();
  const shadow = new Shadow({
    upstream: "http://up:3000/v1",
    fetch: (url, init) => {
      sent.push({ url, init });
      return fetch(url, init);
    },
    handle: (request) => {
      repeated.push(request);
      return own();
    },
    tally,
    now: () => 0,
    isSampled,
    pause: () => Promise.resolve(),
  });
  const handle = proxyHandler(shadow);
  const send = (target: string, init: RequestInit = {}) =>
    handle(new Request(`http://me:80${target}`, init), {});
  /** Returns `compared / not compared`. */
  const counts = () => `${tally.compared} / ${tally.notCompared}`;
  return { send, sent, repeated, tally, shadow, counts };
}

function json(text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text, { headers: { "Content-Type": "application/json", ...headers } });
}

/** Resolves when nothing is left to do that does not wait for I/O. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

const answers: readonly (readonly [
  label: string,
  request: RequestInit,
  answer: () => Response,
  expected: { readonly status: number; readonly headers: object; readonly text: string },
  counts: string,
])[] = [
  [
    "a body and its headers",
    {},
    () => json("[1]", { "Content-Range": "0-0/*", "X-Own": "1" }),
    {
      status: 200,
      headers: { "content-range": "0-0/*", "content-type": "application/json", "x-own": "1" },
      text: "[1]",
    },
    "1 / 0",
  ],
  [
    "headers of the connection",
    {},
    () => json("[1]", { Connection: "x-hop", "X-Hop": "1", "Keep-Alive": "timeout=5" }),
    { status: 200, headers: { "content-type": "application/json" }, text: "[1]" },
    "1 / 0",
  ],
  [
    "a compressed body, which Deno leaves as it is",
    {},
    () => json("x", { "Content-Encoding": "gzip", "Content-Length": "1" }),
    {
      status: 200,
      headers: {
        "content-encoding": "gzip",
        "content-length": "1",
        "content-type": "application/json",
      },
      text: "x",
    },
    "0 / 1",
  ],
  [
    "the refusal of an upstream that is overloaded, without a repetition",
    {},
    () => new Response("x", { status: 503, headers: { "Content-Type": "text/plain" } }),
    { status: 503, headers: { "content-type": "text/plain" }, text: "x" },
    "0 / 1",
  ],
  [
    "HEAD",
    { method: "HEAD" },
    () => new Response(null, { headers: { "Content-Length": "3" } }),
    { status: 200, headers: { "content-length": "3" }, text: "" },
    "1 / 0",
  ],
  [
    "204",
    { method: "DELETE" },
    () => new Response(null, { status: 204 }),
    { status: 204, headers: {}, text: "" },
    "0 / 0",
  ],
  [
    "304",
    {},
    () => new Response(null, { status: 304 }),
    { status: 304, headers: {}, text: "" },
    "1 / 0",
  ],
  [
    "a redirect",
    {},
    () => new Response(null, { status: 303, headers: { Location: "/x" } }),
    { status: 303, headers: { location: "/x" }, text: "" },
    "1 / 0",
  ],
  [
    "a plan, which differs always",
    { headers: { Accept: "application/vnd.pgrst.plan+json" } },
    () => json("[1]"),
    { status: 200, headers: { "content-type": "application/json" }, text: "[1]" },
    "0 / 0",
  ],
  [
    "a long body",
    {},
    () => new Response("x".repeat(1024 * 1024 + 1), { headers: { "Content-Type": "text/plain" } }),
    { status: 200, headers: { "content-type": "text/plain" }, text: "x".repeat(1024 * 1024 + 1) },
    "0 / 1",
  ],
];

for (const [label, request, answer, expected, counted] of answers) {
  Deno.test(`proxyHandler() passes ${label}`, async () => {
    const { send, counts } = proxied(() => Promise.resolve(answer()));
    const response = await send("/a?b=eq.1", request);
    const { status, headers } = response;
    deepStrictEqual(
      { status, headers: Object.fromEntries(headers), text: await response.text() },
      expected,
    );
    await settled();
    strictEqual(counts(), counted);
  });
}

Deno.test("proxyHandler() sends both sides the request without headers of the connection", async () => {
  const { send, sent, repeated } = proxied(() => Promise.resolve(json("[1]")));
  const headers = {
    Authorization: "Bearer a",
    Connection: 'X-Hop, x!b, "',
    "X-Hop": "1",
    "X!B": "1",
    Host: "me",
  };
  await (await send('/a?b=eq."1"', { headers })).text();
  await settled();
  strictEqual(sent[0]!.url, "http://up:3000/v1/a?b=eq.%221%22");
  strictEqual(repeated[0]!.url, "http://up:3000/a?b=eq.%221%22");
  for (const received of [sent[0]!.init.headers as Headers, repeated[0]!.headers]) {
    deepStrictEqual(Object.fromEntries(received), {
      "accept-encoding": "identity",
      authorization: "Bearer a",
    });
  }
});

Deno.test("proxyHandler() passes writes to the upstream alone", async () => {
  const { send, sent, repeated, tally } = proxied((url, { body, method }) =>
    new Response(body as ReadableStream).text().then((text) => json(`["${method} ${url} ${text}"]`))
  );
  const headers = { "Content-Length": "2" };
  const response = await send("/rpc/f", { method: "POST", body: "{}", headers });
  strictEqual(await response.text(), '["POST http://up:3000/v1/rpc/f {}"]');
  await settled();
  deepStrictEqual([sent.length, repeated.length], [1, 0]);
  match(tally.report(), / 0 reads compared, 0 not compared, 1 other requests/);
});

Deno.test("proxyHandler() sends no body for a write without one", async () => {
  const { send, sent } = proxied(() => Promise.resolve(new Response(null, { status: 204 })));
  await send("/a", { method: "DELETE", body: "" });
  strictEqual(sent[0]!.init.body, null);
});

Deno.test("proxyHandler() refuses paths that fetch would change", async () => {
  const { shadow, sent } = proxied(() => Promise.resolve(json("[1]")));
  const statuses = [];
  for (
    const target of [
      "/../a",
      "/a/..",
      "/%2E./a",
      "/./a",
      "/a\\b",
      "/a?b#c",
      "//a",
      "/..a/a.?b=/../\\",
    ]
  ) {
    const headers = new Headers();
    const request = { url: `http://me${target}`, method: "GET", headers, body: null };
    const { status } = await proxyHandler(shadow)(request as Request, {});
    statuses.push(status);
    // Reads of a log are sent to the same servers.
    strictEqual(isRead({ method: "GET", target, headers }), status === 200);
  }
  deepStrictEqual(statuses, [400, 400, 400, 400, 400, 400, 200, 200]);
  deepStrictEqual(sent.map(({ url }) => url), [
    "http://up:3000/v1//a",
    "http://up:3000/v1/..a/a.?b=/../\\",
  ]);
});

Deno.test("proxyHandler() counts a body once that the client cancels while it waits", async () => {
  const body = new ReadableStream({ pull: () => deferred<void>().promise });
  const { send, counts } = proxied(() => Promise.resolve(new Response(body)));
  const reader = (await send("/a")).body!.getReader();
  void reader.read();
  await settled();
  await reader.cancel();
  await settled();
  strictEqual(counts(), "0 / 1");
});

Deno.test("proxyHandler() compares reads of the sample", async () => {
  const sample = [true, false, false].values();
  const { send, repeated, counts } = proxied(
    () => Promise.resolve(json("[1]")),
    undefined,
    () => sample.next().value!,
  );
  for (let at = 0; at < 3; at++) await (await send("/a")).text();
  await settled();
  deepStrictEqual([repeated.length, counts()], [1, "1 / 2"]);
});

Deno.test("Shadow shows no control characters of names", async () => {
  const { send, tally } = proxied(
    () => Promise.resolve(json('{"\\u001b[2J\\u202e":1}')),
    () => Promise.resolve(json("{}")),
  );
  await (await send("/a")).text();
  await settled();
  match(tally.report(), /^ {4}\. \[2J : upstream 1, svc nothing$/m);
});

Deno.test("proxyHandler() answers 502 with advice without an upstream", async () => {
  const { send, counts } = proxied(() => Promise.reject(new TypeError("refused")));
  const response = await send("/a");
  strictEqual(response.status, 502);
  strictEqual(
    (await response.json()).message,
    "svc shadow: cannot reach http://up:3000/v1: start that server, or correct --upstream",
  );
  await settled();
  strictEqual(counts(), "0 / 1");
});

Deno.test("proxyHandler() reads a body at the pace of the client, and cancels it with the client", async () => {
  let pulls = 0;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulls++;
      controller.enqueue(new Uint8Array([49]));
    },
    cancel: () => void (isCancelled = true),
  }, { highWaterMark: 0 });
  const { send, counts } = proxied(() => Promise.resolve(new Response(body)));
  const reader = (await send("/a")).body!.getReader();
  await reader.read();
  await settled();
  strictEqual(pulls, 1);
  await reader.cancel();
  await settled();
  deepStrictEqual([isCancelled, counts()], [true, "0 / 1"]);
});

Deno.test("Shadow compares at most 64 answers that wait, and those that run until it stops", async () => {
  const release = deferred<void>();
  const { send, repeated, shadow, counts } = proxied(
    () => Promise.resolve(json("[1]")),
    () => release.promise.then(() => json("[1]")),
  );
  for (let at = 0; at < 70; at++) await (await send("/a")).text();
  await settled();
  deepStrictEqual([repeated.length, counts()], [4, "0 / 6"]);
  const stopped = shadow.stop();
  release.resolve();
  await stopped;
  deepStrictEqual([repeated.length, counts()], [4, "4 / 66"]);
});

Deno.test("Shadow requests a second answer only of reads that differ", async () => {
  let count = 0;
  const own = ["[1]", "[2]", "[3]"];
  const { send, sent, tally } = proxied(
    () => Promise.resolve(json("[1]")),
    () => Promise.resolve(json(own[count++]!)),
  );
  const token = "Bearer eyJhbGciOiJub25lIn0.e30.x";
  for (const target of ["/a?b=eq.1", "/a?b=eq.2", "/rpc/new_secret"]) {
    await (await send(target, { headers: { Authorization: token } })).text();
    await settled();
  }
  strictEqual(sent.length, 5);
  strictEqual(
    tally.report(),
    `Your 3 requests: 2 shapes differ
  3 reads compared, 0 not compared, 0 other requests
  upstream: p50 0 ms, p99 0 ms
  svc: p50 0 ms, p99 0 ms

GET /a?b=eq
  1 of 2 differ, such as
  GET /a?b=eq.2
    []: upstream 1, svc 2

GET /rpc/new_secret
  1 of 1 differ, such as
  GET /rpc/new_secret
    []
`,
  );
});
