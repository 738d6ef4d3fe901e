import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  type Bookmark,
  bookmarkText,
  latestBookmark,
  parseBookmark,
} from "../../../../src/database/replicas/bookmark.ts";

const bookmarks: readonly (readonly [text: string, bookmark: Bookmark])[] = [
  ["1-0000000004987158", { kind: "position", timeline: 1, lsn: 0x4987158n }],
  ["A-000000FF00000000", { kind: "position", timeline: 10, lsn: 0xffn << 32n }],
  ["FFFFFFFF-FFFFFFFFFFFFFFFF", {
    kind: "position",
    timeline: 0xffffffff,
    lsn: 0xffff_ffff_ffff_ffffn,
  }],
  ["t-1700000000000", { kind: "time", epochMs: 1_700_000_000_000 }],
];
for (const [text, bookmark] of bookmarks) {
  Deno.test(`parseBookmark() and bookmarkText() agree on ${text}`, () => {
    deepStrictEqual(parseBookmark(text), bookmark);
    strictEqual(bookmarkText(bookmark), text);
  });
}

Deno.test("parseBookmark() reads hexadecimal digits of either case", () => {
  deepStrictEqual(parseBookmark("a-00000000000000ff"), {
    kind: "position",
    timeline: 10,
    lsn: 255n,
  });
});

const malformed = [
  "",
  "1",
  "1-",
  "-0000000004987158",
  "1-4987158",
  "1-00000000049871580",
  "123456789-0000000004987158",
  "1-000000000498715G",
  "1-0000000004987158\n",
  " 1-0000000004987158",
  "1-0000000004987158, 1-0000000004987158",
  "0/4987158",
  "t-",
  "t-1234567890123456",
  "t-1e3",
];
for (const text of malformed) {
  Deno.test(`parseBookmark() returns null for ${JSON.stringify(text)}`, () => {
    strictEqual(parseBookmark(text), null);
  });
}

/** Bookmarks, and the latest of them; null if they cannot be compared. */
const lists: readonly (readonly [text: string, latest: string | null])[] = [
  ["1-0000000004987158", "1-0000000004987158"],
  ["1-0000000000000001,1-00000000000000FF,1-000000000000000A", "1-00000000000000FF"],
  ["1-0000000000000001,1-0000000000000001", "1-0000000000000001"],
  ["t-20,t-100,t-3", "t-100"],
  ["1-0000000000000001,2-0000000000000001", null],
  ["1-0000000000000001,t-100", null],
  ["t-100,1-0000000000000001", null],
  ["1-0000000000000001,", null],
  ["1-0000000000000001, 1-0000000000000002", null],
  ["nonsense,1-0000000000000001", null],
  ["", null],
];
for (const [text, latest] of lists) {
  Deno.test(`latestBookmark() returns ${latest} for ${JSON.stringify(text)}`, () => {
    const found = latestBookmark(text);
    strictEqual(found === null ? null : bookmarkText(found), latest);
  });
}
