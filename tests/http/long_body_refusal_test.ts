/** What a request can be refused for without its body is answered before a long body is read. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { buildRequest } from "../support/handler/request.ts";
import { signToken } from "../support/handler/token.ts";

const kibibyte = 1024;
const chunk = new Uint8Array(32 * kibibyte).fill(0x20);
const chunks = 100;

/** How a client says how much it is going to send. */
const lengths: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "with its length": { "Content-Length": String(chunks * chunk.length) },
  "in chunks": { "Transfer-Encoding": "chunked" },
};

const csv = { "Content-Type": "text/csv" };
const form = { "Content-Type": "application/x-www-form-urlencoded" };
const text = { "Content-Type": "text/plain" };
const strict = (preferences: string) => ({ Prefer: `handling=strict, ${preferences}` });

/** Request line, headers, and the error's status, code and message. */
type Refused = readonly [
  line: string,
  headers: Readonly<Record<string, string>>,
  status: number,
  code: string,
  message: string,
];

const noTable = "Could not find the table 'api.nothing' in the schema cache";
const noColumn = "Could not find the 'nope' column of 'single' in the schema cache";
const noEmbed = "Could not find a relationship between 'single' and 'nothing' in the schema cache";
const noMedia = "None of these media types are available: image/png";
const badPreference = "Invalid preferences given with handling=strict";

const rows: readonly Refused[] = [
  ["POST /a/b/c", {}, 404, "SVC125", "Invalid path specified in request URL"],
  ["POST /single", { "Content-Profile": "no" }, 406, "SVC106", "Invalid schema: no"],
  ["LINK /single", {}, 405, "SVC117", "Unsupported HTTP method: LINK"],
  ["PUT /rpc/f", {}, 405, "SVC101", "Cannot use the PUT method on RPC"],
  ["POST /single", text, 415, "SVC107", "Content-Type not acceptable: text/plain"],
  ["POST /nothing", {}, 404, "SVC205", noTable],
  ["POST /nothing", csv, 404, "SVC205", noTable],
  ["POST /nothing", form, 404, "SVC205", noTable],
  ["PATCH /nothing", {}, 404, "SVC205", noTable],
  ["PUT /nothing?id=eq.1", {}, 404, "SVC205", noTable],
  ["POST /single?columns=id,nope", {}, 400, "SVC204", noColumn],
  ["PATCH /single?columns=id,nope", {}, 400, "SVC204", noColumn],
  ["POST /single?select=id,nothing(id)", csv, 400, "SVC200", noEmbed],
  ["POST /single", { Accept: "image/png" }, 406, "SVC107", noMedia],
  ["PATCH /single", { ...csv, Accept: "image/png" }, 406, "SVC107", noMedia],
  ["POST /single", strict("bad"), 400, "SVC122", badPreference],
  [
    "PUT /single?note=eq.1",
    csv,
    405,
    "SVC105",
    "Filters must include all and only primary key columns with 'eq' operators",
  ],
  [
    "PUT /single?id=eq.1&limit=1",
    {},
    400,
    "SVC114",
    "limit/offset querystring parameters are not allowed for PUT",
  ],
  [
    "PATCH /single?limit=1",
    form,
    400,
    "SVC109",
    "A 'limit' was applied without an explicit 'order'",
  ],
  [
    "POST /rpc/nothing",
    {},
    404,
    "SVC202",
    "Could not find the function api.nothing in the schema cache",
  ],
  ["POST /rpc/f", { ...csv, Accept: "image/png" }, 406, "SVC107", noMedia],
  ["POST /rpc/f", { ...text, ...strict("bad") }, 400, "SVC122", badPreference],
  [
    "POST /rpc/f",
    { ...form, ...strict("max-affected=1") },
    400,
    "SVC128",
    "Function must return SETOF or TABLE when max-affected preference is used with handling=strict",
  ],
  ["POST /rpc/overloaded", strict("bad"), 400, "SVC122", badPreference],
];

const suite = serviceSuite("long_bodies", { dbSchemas: ["api"], dbAnonRole: "anon" });

/** Sends a body that counts how many of its chunks are asked for. */
async function send(
  api: Api,
  line: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly response: Response; readonly read: number }> {
  let read = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (read++ < chunks) controller.enqueue(chunk.slice());
      else controller.close();
    },
  }, { highWaterMark: 0 });
  const bare = await buildRequest({ line, origin: "http://localhost:3000" }, { headers });
  const response = await api.handler(new Request(bare, { body }));
  return { response, read };
}

for (const [how, length] of Object.entries(lengths)) {
  for (const [line, headers, status, code, message] of rows) {
    const given = JSON.stringify(headers);
    suite.test(`${line} ${given} ${how}: ${status} ${code}, nothing read`, async (api) => {
      const { response, read } = await send(api, line, { ...headers, ...length });
      const error = await response.json();
      deepStrictEqual(
        { status: response.status, code: error.code, message: error.message, read },
        { status, code, message, read: 0 },
      );
    });
  }
  suite.test(`a bad token, ${how}: 401, nothing read`, async (api) => {
    const token = await signToken({ role: "anon" }, "another secret of sufficient length");
    const headers = { ...length, Authorization: `Bearer ${token}` };
    const { response, read } = await send(api, "POST /single", headers);
    await response.body?.cancel();
    deepStrictEqual({ status: response.status, read }, { status: 401, read: 0 });
  });
  for (const line of ["POST /single", "PATCH /single", "PUT /single?id=eq.1", "POST /rpc/f"]) {
    suite.test(`${line} ${how}: the body is read, and found to be empty`, async (api) => {
      const { response, read } = await send(api, line, length);
      deepStrictEqual(
        { status: response.status, message: (await response.json()).message, read },
        { status: 400, message: "Empty or invalid json", read: chunks + 1 },
      );
    });
  }
}

suite.test("a body of unsaid length is looked at when it proves to be long", async (api) => {
  const { response, read } = await send(api, "POST /nothing", csv);
  strictEqual(response.status, 404);
  strictEqual((await response.json()).message, noTable);
  ok(read <= 4, `${read} chunks`);
});

suite.answers("errors of the syntax of a short body come first")`
  POST /nothing {Content-Length: 1} with "{" | 400 SVC102 | Empty or invalid json | The text ends early
  POST /nothing with "{" | 400 SVC102 | Empty or invalid json | The text ends early
`;
