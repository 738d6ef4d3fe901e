import { deepStrictEqual, ok } from "node:assert/strict";
import { readJsonRows, readJsonRowsInSlices } from "../../../src/request/json_rows.ts";
import { patientPayloadReader, payloadReader } from "../../../src/request/payload.ts";
import { rejectionOf } from "../../support/refusal.ts";

const encoder = new TextEncoder();
const row = '{"a":1,"b":["x",{"c":[2,"é"]}],"d":"some text"}';
const many = Array(150_000).fill(row).join(",");
const numbers = "1,".repeat(3_000_000);
const depth = 3_000_000;

const texts: readonly [name: string, text: string][] = [
  ["rows", `[${many}]`],
  ["an object", `{"a":[${many}],"b":1}`],
  ["rows, cut short", `[${many}`],
  ["rows and more", `[${many}] x`],
  ["rows and another", `[${many},{"a":1}]`],
  ["numbers in a row", `[{"a":[${numbers}1]}]`],
  ["numbers for rows", `[${numbers}1]`],
  ["a broken number", `[${numbers}01]`],
  ["a long text", `[{"a":"${"x".repeat(5_000_000)}"}]`],
  ["depth", `${"[".repeat(depth)}${"]".repeat(depth)}`],
  ["depth in a row", `[{"a":${"[".repeat(depth)}${"]".repeat(depth)}}]`],
  ["depth without end", "[".repeat(depth * 2)],
  ["little", "[]"],
];

Deno.test("readJsonRowsInSlices reads the same, with pauses", async (t) => {
  for (const [name, text] of texts) {
    await t.step(name, async () => {
      const bytes = encoder.encode(text);
      let pauses = 0;
      const read = await readJsonRowsInSlices(bytes, () => {
        pauses++;
        return Promise.resolve();
      });
      deepStrictEqual(read, readJsonRows(bytes));
      ok(pauses >= Math.floor(bytes.length / 6_000_000), `${pauses} pauses`);
    });
  }
});

Deno.test("patientPayloadReader gives what payloadReader gives", async () => {
  for (const columnsGiven of [false, true]) {
    for (const [name, text] of texts.slice(0, 5)) {
      const parts = { contentType: null, takes: "rows", columnsGiven } as const;
      const bytes = encoder.encode(`\ufeff${text}`);
      const patient = async () => await patientPayloadReader(parts)(bytes);
      const plain = () => payloadReader(parts)(bytes);
      if (!columnsGiven && /short|more|another/.test(name)) {
        deepStrictEqual(await rejectionOf(patient), await rejectionOf(plain), name);
      } else {
        deepStrictEqual(await patient(), plain(), name);
      }
    }
  }
});
