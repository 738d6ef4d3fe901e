import { strictEqual } from "node:assert/strict";
import type { FinishedRequest } from "../../../../src/base/observe/observation.ts";
import { textLines } from "../../../../src/base/observe/text_lines.ts";

const request: FinishedRequest = {
  kind: "request-finished",
  method: "GET",
  target: "/orders?id=eq.7",
  status: 200,
  length: 56,
  role: "clerk",
  client: "127.0.0.1",
  referer: null,
  userAgent: "curl/8.7.1",
  time: Date.UTC(2026, 6, 26, 6, 56, 38),
  durationMs: 1.5,
  route: "/orders",
  protocol: "HTTP/1.1",
  queueMs: 0,
  databaseMs: 1,
  requestId: "r1",
  traceId: null,
  spanId: null,
  code: null,
};
const { access: accessLine } = textLines({ program: "svc", source: "" }, () => -300);
const time = "[26/Jul/2026:01:56:38 -0500]";

const lines:
  readonly (readonly [title: string, changes: Partial<FinishedRequest>, line: string])[] = [
    [
      "a request",
      {},
      `127.0.0.1 - clerk ${time} "GET /orders?id=eq.7 HTTP/1.1" 200 56 "" "curl/8.7.1"`,
    ],
    [
      "unknown fields",
      { client: null, role: null, length: null, userAgent: null, referer: "" },
      `- - - ${time} "GET /orders?id=eq.7 HTTP/1.1" 200 - "" ""`,
    ],
    [
      "a length of zero",
      { length: 0, status: 404 },
      `127.0.0.1 - clerk ${time} "GET /orders?id=eq.7 HTTP/1.1" 404 0 "" "curl/8.7.1"`,
    ],
    [
      "letters of any script and single spaces between quotes",
      { referer: "https://пример/ü", userAgent: "a  b 😀" },
      `127.0.0.1 - clerk ${time} "GET /orders?id=eq.7 HTTP/1.1" 200 56 "https://пример/ü" "a  b 😀"`,
    ],
    [
      "a user agent that would forge a line",
      { userAgent: `x" 200\r\n1.2.3.4 - admin [t] "GET / HTTP/1.1" 200 0 "" "y\\` },
      `127.0.0.1 - clerk ${time} "GET /orders?id=eq.7 HTTP/1.1" 200 56 "" ` +
      `"x\\" 200\\x0d\\x0a1.2.3.4 - admin [t] \\"GET / HTTP/1.1\\" 200 0 \\"\\" \\"y\\\\"`,
    ],
    [
      "a referer with control and formatting characters",
      { referer: "\0\u001b[2J\u007f\u0085\u2028\u202e\ud800" },
      `127.0.0.1 - clerk ${time} "GET /orders?id=eq.7 HTTP/1.1" 200 56 ` +
      `"\\x00\\x1b[2J\\x7f\\x85\\u{2028}\\u{202e}\\u{d800}" "curl/8.7.1"`,
    ],
    [
      "a method, target and role with spaces and quotes",
      { method: 'G"T\t', target: "/a b\u00a0\u3000c\\", role: 'a" [x] b', client: "::1\n" },
      `::1\\x0a - a\\"\\x20[x]\\x20b ${time} ` +
      `"G\\"T\\x09 /a\\x20b\\xa0\\u{3000}c\\\\ HTTP/1.1" 200 56 "" "curl/8.7.1"`,
    ],
  ];

for (const [title, changes, line] of lines) {
  Deno.test(`accessLine() writes ${title}`, () => {
    strictEqual(accessLine({ ...request, ...changes }), line);
  });
}

Deno.test("accessLine() escapes every ASCII character that is not plain", () => {
  for (let code = 0; code < 128; code++) {
    const character = String.fromCharCode(code);
    const line = accessLine({ ...request, target: `/${character}`, userAgent: character });
    const hex = `\\x${code.toString(16).padStart(2, "0")}`;
    const isControl = code < 32 || code === 127;
    const escaped = character === '"' || character === "\\" ? `\\${character}` : character;
    const word = isControl || character === " " ? hex : escaped;
    const text = isControl ? hex : escaped;
    strictEqual(
      line,
      `127.0.0.1 - clerk ${time} "GET /${word} HTTP/1.1" 200 56 "" "${text}"`,
      String(code),
    );
  }
});
