import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  type Bookmark,
  bookmarkText,
  type ClientState,
  parseBookmark,
  readBookmarks,
} from "../../../../src/database/wal_position.ts";

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

const position = (lsn: bigint, timeline = 1) => ({ kind: "position", timeline, lsn }) as const;
const lists: readonly (readonly [text: string, state: ClientState | null])[] = [
  ["1-0000000000000010", { position: position(16n), epochMs: null }],
  ["1-0000000000000010,1-0000000000000020", { position: position(32n), epochMs: null }],
  ["1-0000000000000020,t-5,1-0000000000000010,t-4", { position: position(32n), epochMs: 5 }],
  ["1-0000000000000010,2-0000000000000020", null],
  ["1-0000000000000010,", null],
  ["", null],
];
for (const [text, state] of lists) {
  Deno.test(`readBookmarks() reads all of ${JSON.stringify(text)}`, () => {
    deepStrictEqual(readBookmarks(text), state);
  });
}
