import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  type Bookmark,
  bookmarkText,
  parseBookmark,
  readBookmarks,
} from "../../../../src/database/wal_position.ts";

const bookmarks: readonly (readonly [text: string, bookmark: Bookmark])[] = [
  ["1-0000000004987158", { timeline: 1, lsn: 0x4987158n }],
  ["A-000000FF00000000", { timeline: 10, lsn: 0xffn << 32n }],
  ["FFFFFFFF-FFFFFFFFFFFFFFFF", {
    timeline: 0xffffffff,
    lsn: 0xffff_ffff_ffff_ffffn,
  }],
];
for (const [text, bookmark] of bookmarks) {
  Deno.test(`parseBookmark() and bookmarkText() agree on ${text}`, () => {
    deepStrictEqual(parseBookmark(text), bookmark);
    strictEqual(bookmarkText(bookmark), text);
  });
}

Deno.test("parseBookmark() reads hexadecimal digits of either case", () => {
  deepStrictEqual(parseBookmark("a-00000000000000ff"), {
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
  "t-1700000000000",
];
for (const text of malformed) {
  Deno.test(`parseBookmark() returns null for ${JSON.stringify(text)}`, () => {
    strictEqual(parseBookmark(text), null);
  });
}

const lists: readonly (readonly [text: string, highest: Bookmark | null])[] = [
  ["1-0000000000000010", { timeline: 1, lsn: 16n }],
  ["1-0000000000000020,1-0000000000000010", { timeline: 1, lsn: 32n }],
  ["1-0000000000000010,2-0000000000000020", null],
  ["1-0000000000000010,", null],
  ["", null],
];
for (const [text, highest] of lists) {
  Deno.test(`readBookmarks() reads all of ${JSON.stringify(text)}`, () => {
    deepStrictEqual(readBookmarks(text), highest);
  });
}
