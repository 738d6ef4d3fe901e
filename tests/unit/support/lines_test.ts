import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { collectLines } from "../../support/server/lines.ts";

function pipe() {
  const { readable, writable } = new TransformStream<
    Uint8Array<ArrayBuffer>,
    Uint8Array<ArrayBuffer>
  >();
  const writer = writable.getWriter();
  const write = (text: string) => writer.write(new TextEncoder().encode(text));
  return { lines: collectLines(readable), write, close: () => writer.close() };
}

Deno.test("waitFor gives a line that was there, one that comes, and one after an index", async () => {
  const { lines, write, close } = pipe();
  await write("one\ntw");
  strictEqual(await lines.waitFor(/^o/), "one");
  const coming = lines.waitFor(/^t/);
  await write("o\none again\n");
  strictEqual(await coming, "two");
  strictEqual(await lines.waitFor(/^one/, { after: 1 }), "one again");
  await close();
  await lines.ended;
  deepStrictEqual(lines.all, ["one", "two", "one again"]);
});

Deno.test("waitFor rejects with the whole output when it ends", async () => {
  const { lines, write, close } = pipe();
  const failure = rejects(lines.waitFor(/never/), {
    message: "no line matched /never/:\none\ntwo",
  });
  await write("one\ntwo");
  await close();
  await failure;
  await rejects(lines.waitFor(/never/), { message: "no line matched /never/:\none\ntwo" });
});

Deno.test("waitFor rejects when the time is over", async () => {
  const { lines, write, close } = pipe();
  await write("one\n");
  await rejects(lines.waitFor(/never/, { seconds: 0.01 }), {
    message: "no line matched /never/:\none",
  });
  await close();
  await lines.ended;
});
