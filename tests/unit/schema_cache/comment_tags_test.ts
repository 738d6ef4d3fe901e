import { deepStrictEqual } from "node:assert/strict";
import { readCommentTags, type TaggedComment } from "../../../src/schema_cache/comment_tags.ts";

const on = { dbCommentTags: true };

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
];

for (const [comment, read] of rows) {
  Deno.test(`readCommentTags() reads ${JSON.stringify(comment)}`, () => {
    const expected = { text: null, keys: [], isPrimary: false, ...read };
    deepStrictEqual(readCommentTags(comment, on), expected);
  });
}

Deno.test("readCommentTags() keeps the comment if tags do not count", () => {
  const expected = { text: "@primary", keys: [], isPrimary: false };
  deepStrictEqual(readCommentTags("@primary", {}), expected);
  deepStrictEqual(readCommentTags("@primary", { dbCommentTags: false }), expected);
});
