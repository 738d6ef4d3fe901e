import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { discardBody, mayHaveUnreadBody } from "../../../../src/process/server/discard_body.ts";
import { fakeClock, settled } from "../../../support/timing/fake_clock.ts";

type Type = "bytes" | undefined;

/** A body of a number of chunks; counts what is read of it. */
function countedBody(chunks: number, { type, length = 10 }: { type?: Type; length?: number } = {}) {
  const counts = { pulls: 0, cancels: 0 };
  const chunk = new Uint8Array(length);
  const source = {
    type,
    pull(controller: ReadableStreamDefaultController | ReadableByteStreamController) {
      if (counts.pulls++ < chunks) return controller.enqueue(chunk.slice());
      controller.close();
      if ("byobRequest" in controller) controller.byobRequest?.respond(0);
    },
    cancel: () => void counts.cancels++,
  };
  // The types know no source of either type.
  const body: ReadableStream<Uint8Array> = new ReadableStream(source as never, {
    highWaterMark: 0,
  });
  return { body, counts };
}

/** A body whose chunks arrive when the test sends them. */
function sentBody() {
  const counts = { cancels: 0 };
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  const body = new ReadableStream<Uint8Array>({
    start: (started) => void (controller = started),
    cancel: () => void counts.cancels++,
  });
  return { body, counts, send: () => controller!.enqueue(Uint8Array.of(1)) };
}

/** The request that has the body, chunked or of known length. */
function received(body: ReadableStream<Uint8Array> | null, { chunked = false } = {}) {
  const headers = new Headers(chunked ? { "transfer-encoding": "chunked" } : {});
  return { body: body as Request["body"], headers };
}

for (const type of [undefined, "bytes"] as const) {
  Deno.test(`discardBody() reads a body to its end, with a pause behind each chunk: ${type}`, async () => {
    const clock = fakeClock();
    const { body, counts } = countedBody(5, { type });
    let pauses = 0;
    const pause = () => Promise.resolve(void pauses++);
    await discardBody(received(body), { schedule: clock.schedule, pause });
    deepStrictEqual(counts, { pulls: 6, cancels: 0 });
    strictEqual(pauses, 5);
    strictEqual(clock.next(), null);
  });

  Deno.test(`discardBody() reads on after another reader: ${type}`, async () => {
    const { body, counts } = countedBody(5, { type });
    const reader = body.getReader();
    await reader.read();
    reader.releaseLock();
    await discardBody(received(body), { schedule: fakeClock().schedule });
    deepStrictEqual(counts, { pulls: 6, cancels: 0 });
  });
}

Deno.test("discardBody() cancels a body of which no byte arrives for 5 seconds", async () => {
  const clock = fakeClock();
  const { body, counts, send } = sentBody();
  const discarded = discardBody(received(body), { schedule: clock.schedule, pause: settled });
  await clock.pass(4_000);
  send();
  await settled();
  await clock.pass(5_999);
  strictEqual(counts.cancels, 0);
  await clock.pass(1);
  await discarded;
  strictEqual(counts.cancels, 1);
  strictEqual(clock.next(), null);
});

Deno.test("discardBody() cancels a body that does not end within 30 seconds", async () => {
  const clock = fakeClock();
  const { body, counts, send } = sentBody();
  const discarded = discardBody(received(body), { schedule: clock.schedule, pause: settled });
  for (let second = 0; second < 30; second++) {
    strictEqual(counts.cancels, 0);
    send();
    await clock.pass(1_000);
  }
  await discarded;
  strictEqual(counts.cancels, 1);
  strictEqual(clock.next(), null);
});

Deno.test("discardBody() cancels a body of more than 1 GiB", async () => {
  const mebibyte = 1024 * 1024;
  const { body, counts } = countedBody(2000, { length: mebibyte });
  await discardBody(received(body), {
    schedule: fakeClock().schedule,
    pause: () => Promise.resolve(),
  });
  deepStrictEqual(counts, { pulls: 1025, cancels: 1 });
});

Deno.test("discardBody() reads a chunked body to its end, however short its chunks", async () => {
  const { body, counts } = countedBody(2000, { type: "bytes" });
  const options = { schedule: fakeClock().schedule, pause: settled };
  await discardBody(received(body, { chunked: true }), options);
  deepStrictEqual(counts, { pulls: 2001, cancels: 0 });
});

Deno.test("discardBody() leaves a request without a body, or with a locked one", async () => {
  await discardBody(received(null));
  const { body, counts } = countedBody(5);
  body.getReader();
  await discardBody(received(body));
  strictEqual(counts.pulls, 0);
});

Deno.test("discardBody() resolves when the client closes its connection", async () => {
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    pull: (controller) => controller.error(new Error("connection reset")),
  });
  await discardBody(received(body), { schedule: fakeClock().schedule });
});

Deno.test("mayHaveUnreadBody() compares what the request has with what was read", async () => {
  const rows: [headers: Record<string, string>, isRead: boolean, status: number, may: boolean][] = [
    [{}, false, 200, false],
    [{ "content-length": "4" }, false, 204, true],
    [{ "content-length": "4" }, false, 404, true],
    [{ "transfer-encoding": "chunked" }, false, 404, true],
    [{ "content-length": "4" }, true, 201, false],
    [{ "content-length": "4" }, true, 400, true],
  ];
  for (const [headers, isRead, status, may] of rows) {
    const request = new Request("http://x/", { method: "POST", body: "text" });
    if (isRead) await request.text();
    const { bodyUsed } = request;
    for (const method of ["POST", "GET", "HEAD"]) {
      strictEqual(
        mayHaveUnreadBody({ method, headers: new Headers(headers), bodyUsed }, { status }),
        may && method === "POST",
        JSON.stringify({ method, headers, isRead, status }),
      );
    }
  }
});
