import { deepStrictEqual } from "node:assert/strict";
import { parseAccept } from "../../../../src/base/http/accept.ts";
import { canonicalText } from "../../../../src/base/http/media_type.ts";

Deno.test("parseAccept lists what is accepted, most wanted first", () => {
  const rows: [header: string | null, accepted: string[]][] = [
    [null, ["*/*"]],
    ["", []],
    [" ", []],
    [",", []],
    ["*/*", ["*/*"]],
    ["application/json", ["application/json"]],
    ["text/csv, */*", ["text/csv", "*/*"]],
    ["*/*, text/csv", ["text/csv", "*/*"]],
    ["text/csv, application/json", ["text/csv", "application/json"]],
    ["application/json, text/csv", ["application/json", "text/csv"]],
    ["text/csv;q=0.5, application/json;q=0.9", ["application/json", "text/csv"]],
    ["text/csv; q=0.5 , application/json ; q=0.9", ["application/json", "text/csv"]],
    ["text/csv;q=0, application/json;q=0.1", ["application/json", "text/csv"]],
    ["text/csv;q=0", ["text/csv"]],
    ["text/csv;q=.5, application/json;q=0.9", ["text/csv", "application/json"]],
    ["application/json;q=0.9, text/csv;q=", ["text/csv", "application/json"]],
    ["application/json;q=0.9, text/csv;q=high", ["text/csv", "application/json"]],
    ["application/json;q=0.9, text/csv;Q=0.1", ["text/csv", "application/json"]],
    ["application/json;q=0.2;x=1, text/csv;q=0.3", ["text/csv", "application/json"]],
    [
      "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
      ["text/html", "application/xhtml+xml", "application/xml", "*/*"],
    ],
    ["text/csv, application/json;a=b", ["application/json", "text/csv"]],
    ["text/*, */*, a/b", ["a/b", "text/*", "*/*"]],
    ["undefined", ["undefined"]],
    ["a/b; c = d ;q=0.5", ["a/b;c=d"]],
    [
      'application/vnd.svc.plan+json; for="text/csv"; options=wal|analyze; q=0.5',
      ['application/vnd.svc.plan+json; for="text/csv"; options=analyze|wal'],
    ],
    ["application/vnd.svc.object+json;q=0.5;nulls=stripped", ["application/vnd.svc.object+json"]],
    ['a/b;c="x,y"', ['a/b;c="x', 'y"']],
    ["text/csv,,application/json", ["text/csv", "application/json"]],
  ];
  for (const [header, accepted] of rows) {
    deepStrictEqual(parseAccept(header).map(canonicalText), accepted, String(header));
  }
});
