import { RowCutter } from "../../../../src/api/request/body/divided_body.ts";
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { payloadReader } from "../../../../src/api/request/body/payload.ts";
import { chunksOf } from "../../../support/clients/in_chunks.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** Cuts a body of a type, received in chunks of a length, into the arrays of its rows. */
function cut(body: string, { type, length }: { type: string; length: number }): string[] {
  const reader = payloadReader({ contentType: type, takes: "rows", columnsGiven: false });
  const decoding = reader.begin(() => {}, { isCut: true });
  const arrays: string[] = [];
  let array = "";
  const cutter = new RowCutter({
    append: (bytes) => array += decoder.decode(bytes, { stream: true }),
    endChunk: () => {
      arrays.push(array + decoder.decode());
      array = "";
    },
  });
  for (const chunk of chunksOf(encoder.encode(body), length)) {
    cutter.add(decoding.write(chunk), decoding.cuts!.lastRowEnd);
  }
  const end = decoding.end();
  cutter.add(end, end.length > 0 ? decoding.cuts!.lastRowEnd : -1);
  cutter.end();
  return arrays;
}

/** Rows of about 10 kB, with all that could be taken for the end of a row. */
const rows = Array.from({ length: 330 }, (_, id) => ({
  id,
  a: [[id, { b: "}]" }], "],[", '"\\', "\u{1F600}é\n"],
  n: -1.5e-7,
  t: "x".repeat(10_000 + id % 7),
}));

const text = JSON.stringify(rows);
const flat = rows.map(({ id, t }) => ({ id: String(id), t }));

const bodies: readonly (readonly [label: string, type: string, body: string, rows: unknown[]])[] = [
  ["JSON", "application/json", text, rows],
  ["JSON with blanks", "application/json", ` ${JSON.stringify(rows, null, 1)} \n`, rows],
  [
    "JSON with blanks before commas",
    "application/json",
    text.replaceAll("},{", "} \r\n\t, {"),
    rows,
  ],
  ["ndjson", "application/x-ndjson", rows.map((row) => JSON.stringify(row)).join("\n"), rows],
  [
    "ndjson with blank lines",
    "application/x-ndjson",
    rows.map((row) => `${JSON.stringify(row)}\n\n`).join(""),
    rows,
  ],
  ["CSV", "text/csv", `id,t\n${flat.map(({ id, t }) => `${id},"${t}"\n`).join("")}`, flat],
];

for (const [label, type, body, expected] of bodies) {
  Deno.test(`RowCutter stores arrays of whole rows: ${label}`, () => {
    for (const length of [997, 65_536, Infinity]) {
      const arrays = cut(body, { type, length });
      deepStrictEqual(arrays.flatMap((array) => JSON.parse(array)), expected);
      if (length === Infinity) continue;
      ok(arrays.length >= 3, String(arrays.length));
      ok(
        arrays.slice(0, -1).every((array) => array.length > 1_000_000 && array.length < 1_300_000),
      );
    }
  });
}

Deno.test("RowCutter stores one array if only blanks follow a cut", () => {
  const row = JSON.stringify({ a: "x".repeat(1_100_000) });
  for (const end of ["]", " \n] \n"]) {
    const arrays = cut(`[${row}${end}`, { type: "application/json", length: 1000 });
    deepStrictEqual(arrays.map((array) => JSON.parse(array).length), [1]);
  }
});

Deno.test("RowCutter keeps a row whole, however long it is", () => {
  const values = [{ a: 1 }, { a: "y".repeat(10 * 1024 * 1024) }, { a: 2 }, { a: 3 }];
  const arrays = cut(JSON.stringify(values), { type: "application/json", length: 65_536 });
  deepStrictEqual(arrays.flatMap((array) => JSON.parse(array)), values);
});

Deno.test("RowCutter stores an empty array for a body without rows", () => {
  strictEqual(cut("[]", { type: "application/json", length: 1 }).join(), "[]");
  deepStrictEqual(cut("", { type: "application/x-ndjson", length: 1 }), ["[]"]);
});
