import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { readCurl, shellWords } from "../../support/docs/curl.ts";
import { anchors, codeBlocks, links, sentences } from "../../support/docs/markdown.ts";

Deno.test("shellWords() joins quoted parts, continues lines and expands variables", () => {
  deepStrictEqual(
    shellWords(`curl 'a $X' "b $X" \\\n  c'd'`, { X: "1" }),
    ["curl", "a $X", "b 1", "cd"],
  );
});

Deno.test("readCurl() returns the request of a command", async () => {
  const { request, includesHead } = readCurl(
    `curl -i 'localhost:3000/todos?a=(1)' -H "Authorization: Bearer $TOKEN" -d '{"a":1}'`,
    { TOKEN: "t" },
  );
  strictEqual(request.method, "POST");
  strictEqual(request.url, "http://localhost:3000/todos?a=(1)");
  strictEqual(request.headers.get("authorization"), "Bearer t");
  strictEqual(request.headers.get("content-type"), "application/x-www-form-urlencoded");
  strictEqual(await request.text(), '{"a":1}');
  strictEqual(includesHead, true);
});

Deno.test("readCurl() rejects URLs that curl would expand, and options it does not know", () => {
  throws(() => readCurl("curl 'localhost:3000/todos?id=eq(any).{1,2}'"), /does not send/);
  throws(() => readCurl("curl --silent localhost:3000"), /not supported/);
});

const page = {
  path: "docs/a.md",
  text: "# A `b` c\n\nOne [two](x.md#y) three. Four:\n\n```sh todos\ncurl [no](link)\n```\n",
};

Deno.test("codeBlocks() returns language, flags and place", () => {
  deepStrictEqual(codeBlocks(page), [
    { place: "docs/a.md:5", language: "sh", flags: ["todos"], text: "curl [no](link)\n" },
  ]);
});

Deno.test("links() and anchors() leave code blocks out", () => {
  deepStrictEqual(links(page), [{ place: "docs/a.md:3", target: "x.md#y" }]);
  deepStrictEqual([...anchors(page)], ["a-b-c"]);
});

Deno.test("sentences() returns the words of prose", () => {
  deepStrictEqual(sentences(page).map(({ words }) => words), [["One", "[two]", "three."], [
    "Four:",
  ]]);
});
