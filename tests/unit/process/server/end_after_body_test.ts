import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { endAfterBody } from "../../../../src/process/server/discard_body.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

/** A request whose body arrives when the test sends it. */
function sentRequest(headers: Readonly<Record<string, string>> = {}) {
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  const body = new ReadableStream<Uint8Array>({ start: (started) => void (controller = started) });
  const request = new Request("http://x/", { method: "POST", body, headers });
  return {
    request,
    send: () => controller!.enqueue(Uint8Array.of(1)),
    end: () => controller!.close(),
    fail: () => controller!.error(new Error("reset")),
  };
}

function options() {
  const clock = fakeClock();
  return { clock, schedule: clock.schedule, pause: settled };
}

function refusal(): Response {
  return new Response("no", { status: 404, headers: { "Content-Length": "2", "X-Kept": "1" } });
}

Deno.test("endAfterBody() returns the response as it is if the body has arrived", async () => {
  const { request, end } = sentRequest();
  end();
  const response = refusal();
  strictEqual(await endAfterBody(request, response, options()), response);
});

Deno.test("endAfterBody() returns the response to a client that waits to send its body", async () => {
  const { request } = sentRequest({ expect: "100-continue" });
  const response = refusal();
  strictEqual(await endAfterBody(request, response, options()), response);
  strictEqual(request.bodyUsed, false);
});

/** What a client does after it has got the content. */
const ends = {
  "the body ends": ({ end }: ReturnType<typeof sentRequest>) => end(),
  "the client leaves": ({ fail }: ReturnType<typeof sentRequest>) => fail(),
  "the client is silent": async (
    _: ReturnType<typeof sentRequest>,
    { clock }: ReturnType<typeof options>,
  ) => {
    // A byte has arrived within the first period.
    await clock.pass(5000);
    await clock.pass(5000);
  },
};

for (const [name, run] of Object.entries(ends)) {
  Deno.test(`endAfterBody() sends the content at once and its end when ${name}`, async () => {
    const sent = sentRequest();
    const used = options();
    const held = await endAfterBody(sent.request, refusal(), used);
    deepStrictEqual([held.status, held.headers.get("X-Kept")], [404, "1"]);
    strictEqual(held.headers.has("Content-Length"), false);
    const reader = held.body!.getReader();
    strictEqual(new TextDecoder().decode((await reader.read()).value), "no");
    let hasEnded = false;
    const end = reader.read().then(({ done }) => hasEnded = done);
    sent.send();
    await settled();
    strictEqual(hasEnded, false);
    await run(sent, used);
    await end;
    strictEqual(hasEnded, true);
  });
}

Deno.test("endAfterBody() holds a response without content until the body has ended", async () => {
  const { request, end } = sentRequest();
  const response = new Response(null, { status: 204 });
  let isSent = false;
  const held = endAfterBody(request, response, options()).finally(() => isSent = true);
  await settled();
  await settled();
  strictEqual(isSent, false);
  end();
  strictEqual(await held, response);
});
