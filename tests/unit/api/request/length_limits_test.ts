import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { lengthError } from "../../../../src/api/request/length_limits.ts";

const noLimits = { serverMaxHeaderSize: 0, serverMaxUrlLength: 0 };

const codeOf = (
  { path = "/todos", query = "", headers = {} }: {
    readonly path?: string;
    readonly query?: string;
    readonly headers?: HeadersInit;
  },
  limits: Partial<typeof noLimits>,
) =>
  lengthError(new Headers(headers), { path, query }, { ...noLimits, ...limits })
    ?.fields.code ?? null;

/** Label, request, limits, code. */
const rows: readonly (readonly [
  label: string,
  request: Parameters<typeof codeOf>[0],
  limits: Partial<typeof noLimits>,
  code: string | null,
])[] = [
  ["no limit", { path: "/" + "a".repeat(60_000) }, {}, null],
  ["path of the limit", { path: "/" + "a".repeat(99) }, { serverMaxUrlLength: 100 }, null],
  ["path above the limit", { path: "/" + "a".repeat(100) }, { serverMaxUrlLength: 100 }, "131"],
  ["query of the limit", { path: "/t", query: "a=b" }, { serverMaxUrlLength: 6 }, null],
  ["query above the limit", { path: "/t", query: "a=bc" }, { serverMaxUrlLength: 6 }, "131"],
  ["one header of the limit", { headers: { ab: "cde" } }, { serverMaxHeaderSize: 9 }, null],
  ["one header above the limit", { headers: { ab: "cdef" } }, { serverMaxHeaderSize: 9 }, "132"],
  [
    "several headers above the limit",
    { headers: { a: "b", c: "d", e: "f" } },
    { serverMaxHeaderSize: 17 },
    "132",
  ],
  [
    "URL and header above their limits",
    { headers: { a: "b" } },
    { serverMaxUrlLength: 1, serverMaxHeaderSize: 1 },
    "131",
  ],
];

for (const [label, request, limits, code] of rows) {
  Deno.test(`lengthError() checks URL and header: ${label}`, () => {
    strictEqual(codeOf(request, limits), code);
  });
}

Deno.test("lengthError() counts each of several cookies and repeated headers", () => {
  const headers = new Headers([["cookie", "a=1"], ["cookie", "b=2"], ["x", "1"], ["x", "2"]]);
  const error = lengthError(headers, { path: "/", query: "" }, {
    ...noLimits,
    serverMaxHeaderSize: 10,
  });
  deepStrictEqual(error?.fields.details, "The header has 27 bytes; at most 10 are accepted");
});
