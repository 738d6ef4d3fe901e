import { strictEqual } from "node:assert/strict";
import { lsnText, parseLsn, readPosition, recordEnd } from "../../../src/database/wal_position.ts";

const sizes = { block: 8192n, segment: 16n * 1024n ** 2n };

const ends: readonly (readonly [name: string, lsn: string, end: string])[] = [
  ["a record within a page", "0/47BFAF8", "0/47BFAF8"],
  ["a page's header", "0/4982018", "0/4982000"],
  ["a segment's header", "0/5000028", "0/5000000"],
  ["24 bytes into a segment, within the header", "0/5000018", "0/5000000"],
  ["40 bytes into a page, behind its header", "0/4982028", "0/4982028"],
  ["a page's beginning", "0/4982000", "0/4982000"],
  ["a header behind 4 GiB", "3/4982018", "3/4982000"],
];
for (const [name, lsn, end] of ends) {
  Deno.test(`recordEnd() moves a position back from a header: ${name}`, () => {
    strictEqual(lsnText(recordEnd(parseLsn(lsn)!, sizes)), end);
  });
}

for (const text of ["", "0", "0/", "/0", "0/G", "123456789/0", "0/0/0", " 0/0"]) {
  Deno.test(`parseLsn() returns null for ${JSON.stringify(text)}`, () => {
    strictEqual(parseLsn(text), null);
  });
}

Deno.test("lsnText() writes all 64 bits as PostgreSQL does", () => {
  strictEqual(lsnText(parseLsn("FFFFFFFF/FFFFFFFF")!), "FFFFFFFF/FFFFFFFF");
  strictEqual(lsnText(parseLsn("a/0000000b")!), "A/B");
});

Deno.test("readPosition() reads timeline and record end of a primary", () => {
  const position = readPosition(["0/4982018", "0000000A0000000000000004", "8192", "16777216"]);
  strictEqual(position?.timeline, 10);
  strictEqual(lsnText(position!.lsn), "0/4982000");
});

Deno.test("readPosition() has no timeline on a standby, and no position without replay", () => {
  strictEqual(readPosition(["0/4982000", null, "8192", "16777216"])?.timeline, null);
  strictEqual(readPosition([null, null, "8192", "16777216"]), null);
  strictEqual(readPosition([]), null);
});

const shown: readonly (readonly [name: string, received: string | null, shown: string])[] = [
  ["nothing more to replay", "0/4982010", "0/4982010"],
  ["a record that it may replay", "0/4982048", "0/4982011"],
  ["an archive to replay from", null, "0/4982010"],
  ["a stream that begins again", "0/4000000", "0/4982010"],
];
for (const [name, received, lsn] of shown) {
  Deno.test(`readPosition() covers what a standby shows that has ${name}`, () => {
    const position = readPosition(["0/4982010", null, "8192", "16777216", received])!;
    strictEqual(lsnText(position.lsn), "0/4982010");
    strictEqual(lsnText(position.shownLsn), lsn);
  });
}

const segments: readonly (readonly [segment: string, lsn: string, end: string])[] = [
  ["1048576", "0/100028", "0/100000"],
  ["1073741824", "0/40000028", "0/40000000"],
  ["unknown", "0/1000028", "0/1000028"],
];
for (const [segment, lsn, end] of segments) {
  Deno.test(`readPosition() reads a segment size of ${segment}`, () => {
    const file = "000000010000000000000001";
    strictEqual(lsnText(readPosition([lsn, file, "8192", segment])!.lsn), end);
  });
}
