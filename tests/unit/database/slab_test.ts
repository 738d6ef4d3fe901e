import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { copied } from "../../../src/database/slab.ts";

Deno.test("copied keeps what was there, whatever is copied afterwards and whatever becomes of the source", () => {
  const source = new Uint8Array(2000);
  const copies: { readonly copy: Uint8Array; readonly length: number; readonly fill: number }[] =
    [];
  for (let turn = 0; turn < 500; turn++) {
    const length = (turn * 37) % 1500;
    const fill = turn % 256;
    source.fill(fill);
    copies.push({ copy: copied(source.subarray(0, length)), length, fill });
  }
  source.fill(0);
  for (const { copy, length, fill } of copies) {
    deepStrictEqual(copy, new Uint8Array(length).fill(fill));
  }
});

Deno.test("a response's bytes are its own, although short copies share their memory", async () => {
  const [one, other] = ["one", "another"].map((text) => copied(new TextEncoder().encode(text)));
  strictEqual(one!.buffer, other!.buffer);
  const response = new Response(one as BodyInit);
  const again = response.clone();
  strictEqual((await response.arrayBuffer()).byteLength, 3);
  strictEqual((await again.bytes()).buffer.byteLength, 3);
});
