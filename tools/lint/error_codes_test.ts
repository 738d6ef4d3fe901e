import { deepStrictEqual, match, ok } from "node:assert/strict";
import { allErrors } from "../../src/process/wings.ts";

/** Errors that share a code and a status on purpose. Their messages name different causes of one mistake. */
const shared: Readonly<Record<string, readonly string[]>> = {
  "000 503": ["cannotConnect", "noStandby"],
  "100 400": ["parse", "unusableName"],
  "102 400": ["invalidBody", "abandonedBody", "invalidJson", "mixedKeys"],
  "107 415": ["unsupportedContentType", "unsupportedQueryType"],
  "108 400": ["notEmbedded", "notInColumns", "embeddedUnderAlias"],
  "130 413": ["bodyTooLarge", "bodyExpandsTooMuch"],
  "135 503": ["tooManyRequests", "spoolFull"],
  "301 401": [
    "invalidToken",
    "unknownApiKey",
    "invalidClaims",
    "issuerNotAccepted",
    "issuerRuleViolated",
    "revokedToken",
  ],
  "310 503": ["keysUnavailable", "revocationsUnavailable"],
};

const entries = Object.entries(allErrors).map(([name, { code, status }]) => ({
  name,
  code,
  status,
}));

Deno.test("errors share a code and a status only as listed", () => {
  const groups = Object.groupBy(entries, ({ code, status }) => `${code} ${status}`);
  const found = Object.entries(groups)
    .map(([key, group]) => [key, group!.map(({ name }) => name)] as const)
    .filter(([, names]) => names.length > 1);
  deepStrictEqual(Object.fromEntries(found), shared);
});

Deno.test("errors has codes of one group sign and two digits, and a status from 300 to 599", () => {
  for (const { name, code, status } of entries) {
    match(code, /^[0-9X][0-9]{2}$/, name);
    ok(status >= 300 && status <= 599, `${name} has status ${status}`);
  }
});

const page = await Deno.readTextFile(new URL("../../docs/reference/errors.md", import.meta.url));

/** Rows such as `| SVC116 | 406 | … |`; a code may be in backquotes. */
const documented: ReadonlySet<string> = new Set(
  Array.from(
    page.matchAll(/^\| *`?SVC(\w{3})`? *\| *(\d{3}) *\|/gm),
    (row) => `${row[1]} ${row[2]}`,
  ),
);

Deno.test("docs/reference/errors.md lists every error with its status, and no other", () => {
  const known = new Set(entries.map(({ code, status }) => `${code} ${status}`));
  deepStrictEqual([...documented].toSorted(), [...known].toSorted());
});
