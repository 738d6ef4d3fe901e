import { strictEqual } from "node:assert/strict";
import {
  hasBody,
  headerValue,
  isHeaderName,
  reasonPhrase,
  sendableStatus,
} from "../../../../src/base/errors/http_text.ts";

Deno.test("isHeaderName takes tokens alone", () => {
  const rows: [text: string, valid: boolean][] = [
    ["X-Header", true],
    ["x_1.~!#$%&'*+-^`|", true],
    ["", false],
    ["X Header", false],
    ["X:", false],
    ["X\r\nY", false],
    ["X\0", false],
    ["Ž", false],
    ["(x)", false],
  ];
  for (const [text, valid] of rows) strictEqual(isHeaderName(text), valid, text);
});

Deno.test("headerValue rejects control characters and makes bytes of the rest", () => {
  const rows: [text: string, value: string | null][] = [
    ["", ""],
    ['a "b"; c=d,\te', 'a "b"; c=d,\te'],
    ["ž", "\xc5\xbe"],
    ["a\r\nSet-Cookie: b", null],
    ["a\n", null],
    ["a\r", null],
    ["a\0", null],
    ["a\x7f", null],
    ["a\x1b", null],
  ];
  for (const [text, value] of rows) {
    strictEqual(headerValue(text), value, text);
    if (value !== null) strictEqual(new Headers({ x: value }).get("x"), value);
  }
});

Deno.test("reasonPhrase makes a text that a Response takes", () => {
  const rows: [text: string, phrase: string][] = [
    ["Payment Required", "Payment Required"],
    ["", ""],
    [" a\r\nX-Evil: b\r\n\r\n", "a X-Evil: b"],
    ["a\0b\x7f", "a b"],
    ["ž", "\xc5\xbe"],
    ["x".repeat(1000), "x".repeat(256)],
  ];
  for (const [text, phrase] of rows) {
    strictEqual(reasonPhrase(text), phrase, text);
    strictEqual(new Response(null, { statusText: phrase }).statusText, phrase);
  }
  const cut = reasonPhrase("\ud83d\ude00".repeat(500));
  strictEqual(new Response(null, { statusText: cut }).statusText, cut);
});

Deno.test("sendableStatus and hasBody agree with Response", () => {
  for (const status of [-1, 0, 99, 100, 101, 103, 199, 600, 999, 1e9, 404.5, NaN, Infinity]) {
    strictEqual(sendableStatus(status), 500, String(status));
  }
  for (let status = 200; status <= 599; status++) {
    strictEqual(sendableStatus(status), status);
    const body = hasBody(status) ? "x" : null;
    strictEqual(new Response(body, { status }).status, status);
  }
});
