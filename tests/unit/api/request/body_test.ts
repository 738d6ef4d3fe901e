import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type LongBodyChecks, receiveBody } from "../../../../src/api/request/body/body.ts";
import type {
  BodyDecoder,
  OnKeys,
  Payload,
} from "../../../../src/api/request/body/body_decoder.ts";
import { CsvDecoder } from "../../../../src/api/request/body/csv.ts";
import { JsonDecoder, RawDecoder } from "../../../../src/api/request/body/decoders.ts";
import { rejectionOf } from "../../../support/handler/refusal.ts";

/** Bytes that differ, so that none can be in another's place unnoticed. */
function bytesOf(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, (_, at) => (at * 31 + (at >> 8)) & 255);
}

interface Sent {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly chunks: number;
  /** `Content-Length`; null for none. */
  readonly length: number | null;
  readonly type: "bytes" | undefined;
  /** Breaks off after so many chunks. */
  readonly broken?: number;
}

function request({ bytes, chunks, length, type, broken }: Sent): Request {
  const size = Math.ceil(bytes.length / chunks);
  let at = 0;
  let sent = 0;
  const source = {
    type,
    pull(controller: ReadableStreamDefaultController | ReadableByteStreamController) {
      if (sent++ === broken) return controller.error(new Error("gone"));
      if (at >= bytes.length) {
        controller.close();
        if ("byobRequest" in controller) controller.byobRequest?.respond(0);
        return;
      }
      controller.enqueue(bytes.slice(at, at += size));
    },
  };
  const headers: Record<string, string> = length === null ? {} : { "Content-Length": `${length}` };
  const body = new ReadableStream(source as UnderlyingByteSource);
  return new Request("http://x/", { method: "POST", body, headers });
}

const types = ["bytes", undefined] as const;

const bytea = () => new RawDecoder("bytea");

async function readBody(sent: Request): Promise<Uint8Array> {
  const payload = await receiveBody(sent, bytea);
  if (payload.kind !== "raw") throw new Error(`a payload of ${payload.kind}`);
  return payload.bytes;
}

Deno.test("receiveBody() gathers a body, however it comes", async () => {
  for (const type of types) {
    for (const size of [1, 1000, 70_000, 1_500_000]) {
      for (const chunks of [1, 3, 40]) {
        const bytes = bytesOf(size);
        // Too small or too large a length is not believed.
        for (const length of [null, size, size + 100_000, 65_537]) {
          const body = await readBody(request({ bytes, chunks, length, type }));
          strictEqual(body.length, size);
          deepStrictEqual(body, bytes, `${type} ${size} ${chunks} ${length}`);
        }
      }
    }
  }
});

Deno.test("receiveBody() gives nothing where there is no body", async () => {
  strictEqual((await readBody(new Request("http://x/", { method: "POST" }))).length, 0);
});

Deno.test("receiveBody() refuses a body that breaks off", async () => {
  for (const type of types) {
    for (const length of [10, 100_000, null]) {
      for (const broken of [0, 2]) {
        const sent = { bytes: bytesOf(100_000), chunks: 5, length, type, broken };
        deepStrictEqual(await rejectionOf(() => readBody(request(sent))), {
          code: "102",
          status: 400,
          message: "The body ended early",
        });
      }
    }
  }
});

Deno.test("receiveBody() refuses a body that PostgreSQL cannot take, unread", async () => {
  let pulls = 0;
  const body = new ReadableStream({ pull: () => void pulls++ }, { highWaterMark: 0 });
  const headers = { "Content-Length": String(2 ** 30) };
  const sent = new Request("http://x/", { method: "POST", body, headers });
  deepStrictEqual(await rejectionOf(() => readBody(sent)), {
    code: "130",
    status: 413,
    message: "Request body too large",
    details: "The body has 1073741824 bytes; at most 1072693248 are accepted",
  });
  strictEqual(pulls, 0);
});

const encoder = new TextEncoder();

/** Decoders, and bodies of so many repetitions. */
const bodies: readonly (readonly [
  name: string,
  begin: () => BodyDecoder,
  make: (count: number) => string,
])[] = [
  ["short lines", () => new CsvDecoder("rows", () => {}), (count) => `a\n${"b\n".repeat(count)}`],
  ["a wide line", () => new CsvDecoder("rows", () => {}), (count) => `a\n"${"b,".repeat(count)}"`],
  [
    "a quote left open",
    () => new CsvDecoder("rows", () => {}),
    (count) => `a\n"${"b".repeat(count)}`,
  ],
  [
    "rows",
    () => new JsonDecoder("rows", () => {}),
    (count) => `[${'{"a":1},'.repeat(count)}{"a":1}]`,
  ],
  ["a long string", () => new JsonDecoder("rows", () => {}), (count) => `"${"x".repeat(count)}"`],
  ["blanks", () => new JsonDecoder("rows", () => {}), (count) => `${" ".repeat(count)}1`],
  ["a long number", () => new JsonDecoder("rows", () => {}), (count) => "1".repeat(count)],
  ["arrays", () => new JsonDecoder("rows", () => {}), (count) => `[${"[],".repeat(count)}`],
  ["text", () => new RawDecoder("text"), (count) => "x".repeat(count)],
];

Deno.test("receiveBody() lets others work twice as often while it reads twice as much", async (t) => {
  for (const [name, begin, make] of bodies) {
    await t.step(name, async () => {
      const pauses = async (bytes: Uint8Array<ArrayBuffer>) => {
        let count = 0;
        const pause = () => {
          count++;
          return Promise.resolve();
        };
        const sent = request({ bytes, chunks: 1, length: bytes.length, type: undefined });
        await receiveBody(sent, begin, { pause }).catch((error) => {
          if (!/not closed|invalid json/.test(String(error))) throw error;
        });
        return count;
      };
      const size = Math.ceil(6_000_000 / (make(1000).length / 1000));
      const once = encoder.encode(make(size));
      const [one, two] = [await pauses(once), await pauses(encoder.encode(make(2 * size)))];
      // At least once in 2 MiB.
      ok(one >= Math.floor(once.length / 2 ** 21), `${one} pauses`);
      ok(two >= 2 * one - 2 && two <= 2.2 * one + 2, `${one} pauses, and ${two}`);
    });
  }
});

Deno.test("receiveBody() holds nothing but the payload", async () => {
  const csv = encoder.encode(`a\n${"b\n".repeat(100_000)}`);
  const sent = request({ bytes: csv, chunks: 7, length: null, type: "bytes" });
  const payload = await receiveBody(sent, () => new CsvDecoder("rows", () => {}));
  strictEqual(payload.kind, "json");
  const { text } = payload as Extract<Payload, { kind: "json" }>;
  strictEqual(text.length, 100_000 * '{"a":"b"},'.length + 1);
  deepStrictEqual(JSON.parse(new TextDecoder().decode(text)).length, 100_000);
});

/** Notes what is checked, and behind how many chunks. */
function noting(): { readonly checks: LongBodyChecks; readonly noted: string[] } {
  const noted: string[] = [];
  const keys = (payload: Payload) =>
    void noted.push(payload.kind === "json" ? `keys ${payload.keys} ${payload.text.length}` : "");
  return { checks: { head: () => void noted.push("head"), keys }, noted };
}

Deno.test("receiveBody() checks the head of a long body, and its keys once", async () => {
  const rows = (count: number) =>
    encoder.encode(`[${'{"b":1,"a":2},'.repeat(count)}{"b":1,"a":2}]`);
  const lines = (count: number) => encoder.encode(`b,a\n${"1,2\n".repeat(count)}`);
  const begins = {
    json: [(onKeys: (payload: Payload) => void) => new JsonDecoder("rows", onKeys), rows],
    csv: [(onKeys: (payload: Payload) => void) => new CsvDecoder("rows", onKeys), lines],
  } as const;
  for (const [begin, make] of Object.values(begins)) {
    for (const [count, expected] of [[10, []], [50_000, ["head", "keys a,b 0"]]] as const) {
      for (const isLengthSaid of [true, false]) {
        const bytes = make(count);
        const length = isLengthSaid ? bytes.length : null;
        const { checks, noted } = noting();
        await receiveBody(request({ bytes, chunks: 20, length, type: "bytes" }), begin, { checks });
        deepStrictEqual(noted, expected);
      }
    }
  }
});

Deno.test("receiveBody() checks keys that are too many before the body ends", async () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `"a_long_name_${at}":1`);
  const bytes = encoder.encode(`{${names}}`);
  const { checks, noted } = noting();
  const sent = request({ bytes, chunks: 20, length: null, type: "bytes" });
  const begin = (onKeys: OnKeys) => new JsonDecoder("rows", onKeys);
  await receiveBody(sent, begin, { checks }).catch(() => {});
  strictEqual(noted.length, 2);
  ok(/^keys a_long_name_0,/.test(noted[1]!));
});

Deno.test("receiveBody() reads no further than to what is refused", async () => {
  const chunk = encoder.encode("b,a\n1,2\n".repeat(20_000));
  for (const what of ["head", "keys"] as const) {
    for (const length of [null, 10_000_000]) {
      let pulls = 0;
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => void (pulls++, controller.enqueue(chunk.slice())),
      }, { highWaterMark: 0 });
      const headers = new Headers(length === null ? {} : { "Content-Length": String(length) });
      const sent = new Request("http://x/", { method: "POST", body, headers });
      const refuse = () => {
        throw new Error("refused");
      };
      const checks = { head: () => {}, keys: () => {}, [what]: refuse };
      const begin = (onKeys: (payload: Payload) => void) => new CsvDecoder("rows", onKeys);
      const error = await receiveBody(sent, begin, { checks }).catch(String);
      strictEqual(error, "Error: refused");
      strictEqual(pulls, what === "head" && length !== null ? 0 : 1);
      // The server may read the rest.
      strictEqual(sent.body!.locked, false);
    }
  }
});
