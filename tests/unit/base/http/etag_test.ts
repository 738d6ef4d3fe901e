import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  codedTag,
  matchesStrongly,
  matchesWeakly,
  namedTag,
  readTag,
  readTagList,
  uncodedTags,
} from "../../../../src/base/http/etag.ts";

const strong = (opaque: string) => ({ isWeak: false, opaque });
const weak = (opaque: string) => ({ isWeak: true, opaque });

const lists: readonly (readonly [value: string, tags: ReturnType<typeof readTagList>])[] = [
  ["*", "*"],
  [" * ", "*"],
  ['"a"', [strong("a")]],
  ['""', [strong("")]],
  ['W/"a"', [weak("a")]],
  ['"a","b"', [strong("a"), strong("b")]],
  ['"a" ,\t W/"b,c"', [strong("a"), weak("b,c")]],
  ['"a/!é"', [strong("a/!é")]],
  ["", null],
  [",", null],
  ["a", null],
  ['"a', null],
  ['"a"b', null],
  ['"a" "b"', null],
  ['"a",', null],
  [',"a"', null],
  ['"a",,"b"', null],
  ['"a",*', null],
  ['w/"a"', null],
  ['"a b"', null],
  ['"a\x7f"', null],
  ['"a","b","c"', [strong("a"), strong("b"), strong("c")]],
  ['"a","b","c","d"', null],
];

for (const [value, tags] of lists) {
  Deno.test(`readTagList() reads ${JSON.stringify(value)} with at most three tags`, () => {
    deepStrictEqual(readTagList(value, 3), tags);
  });
}

Deno.test("readTag() reads one tag", () => {
  deepStrictEqual(['"a"', 'W/"a"', "*", '"a","b"', "a"].map(readTag), [
    strong("a"),
    weak("a"),
    null,
    null,
    null,
  ]);
});

// RFC 9110, section 8.8.3.2.
const comparisons: readonly (readonly [string, string, isStrong: boolean, isWeak: boolean])[] = [
  ['W/"1"', 'W/"1"', false, true],
  ['W/"1"', 'W/"2"', false, false],
  ['W/"1"', '"1"', false, true],
  ['"1"', 'W/"1"', false, true],
  ['"1"', '"1"', true, true],
  ['"0", "1"', '"1"', true, true],
  ["*", '"1"', true, true],
];

for (const [list, tag, isStrong, isWeak] of comparisons) {
  Deno.test(`${list} matches ${tag}: ${isStrong ? "strongly" : isWeak ? "weakly" : "never"}`, () => {
    const tags = readTagList(list, 9)!;
    strictEqual(matchesStrongly(tags, readTag(tag)), isStrong);
    strictEqual(matchesWeakly(tags, readTag(tag)), isWeak);
  });
}

Deno.test("tags of codings have suffixes, which uncodedTags() removes", () => {
  strictEqual(codedTag('"a"', "gzip"), '"a-gzip"');
  strictEqual(namedTag('"a"', '"x", "a-br"'), '"a-br"');
  strictEqual(namedTag('"a"', '"x"'), '"a"');
  strictEqual(uncodedTags('W/"a-zstd", "b"'), 'W/"a", "b"');
});
