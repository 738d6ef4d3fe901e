import { deepStrictEqual } from "node:assert/strict";
import type { HeaderList } from "../../../../src/base/lib/header_list.ts";
import {
  readCommentTags,
  type TaggedComment,
} from "../../../../src/state/schema_cache/comment_tags.ts";

const on = { dbCommentTags: true };

const deprecation: HeaderList = [["Deprecation", "@1798761600"], [
  "Sunset",
  "Fri, 01 Jan 2027 00:00:00 GMT",
]];

const rows: readonly (readonly [comment: string | null, read: Partial<TaggedComment>])[] = [
  [null, {}],
  ["", { text: "" }],
  ["Text", { text: "Text" }],
  ["mail@example.com", { text: "mail@example.com" }],
  ["@primary", { isPrimary: true }],
  ["  @primary\t", { isPrimary: true }],
  ["Text\r\n@primary\r\nmore", { text: "Text\nmore", isPrimary: true }],
  ["@primary\n@primary", { isPrimary: true }],
  ["@primary (id)", { text: "@primary (id)" }],
  ["@primary key", { text: "@primary key" }],
  ["@Primary", { text: "@Primary" }],
  ["See @primary", { text: "See @primary" }],
  ["@primaryKey (id)", { keys: ["primaryKey (id)"] }],
  ["@primary\n@unique (a)|x\nText", { text: "Text", keys: ["unique (a)"], isPrimary: true }],
  ["@primaryKeys (id)", { text: "@primaryKeys (id)" }],
  ["Text\n@label (name)", { text: "Text", values: { label: "name" } }],
  ['@label ( "full name" )', { values: { label: "full name" } }],
  ["@label name", { text: "@label name" }],
  ["Text\n @deprecated 2027-01-01 use v2", {
    text: "Text\n\nDeprecated from 2027-01-01: use v2",
    values: { deprecation },
  }],
  ["@deprecated\t2027-01-01 ", { text: "Deprecated from 2027-01-01", values: { deprecation } }],
  ["@deprecated 2026-07-01 2027-01-01 \nText", {
    text: "Text\n\nDeprecated from 2026-07-01",
    values: { deprecation: [["Deprecation", "@1782864000"], deprecation[1]!] },
  }],
  ["@deprecated 2027-13-01", { text: "@deprecated 2027-13-01" }],
  ["@deprecated use v2", { text: "@deprecated use v2" }],
  ["@deprecated 2027-01-01T00:00Z", { text: "@deprecated 2027-01-01T00:00Z" }],
];

for (const [comment, read] of rows) {
  Deno.test(`readCommentTags() reads ${JSON.stringify(comment)}`, () => {
    const expected = { text: null, keys: [], isPrimary: false, values: {}, ...read };
    deepStrictEqual(readCommentTags(comment, on), expected);
  });
}

Deno.test("readCommentTags() keeps the comment if tags do not count", () => {
  const expected = { text: "@primary", keys: [], isPrimary: false, values: {} };
  deepStrictEqual(readCommentTags("@primary", {}), expected);
  deepStrictEqual(readCommentTags("@primary", { dbCommentTags: false }), expected);
});
