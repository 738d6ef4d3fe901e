/** Hints and errors depend on SQLSTATEs and subjects: `lc_messages` and dialects change messages. */
import { deepStrictEqual } from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";

const folders = ["src/api/response", "src/base/errors"] as const;

const text = String.raw`\b(?:message|details?|hint)\b`;
const method = String.raw`\.(?:test|exec|match|matchAll|search|includes|startsWith|endsWith|split)`;

/** A method that looks into a text, after the name of a message or with it among the arguments. */
const matching = new RegExp(
  String.raw`${text}[\w.)?!]*${method}\(|${method}\([^;{}]*${text}`,
);

/** The statuses that PostgREST chooses by messages. */
const allowed = ["sqlstate.ts: (message?.test(failure.message) ?? true)"];

Deno.test("hints and errors match no message", async () => {
  const found: string[] = [];
  for (const folder of folders) {
    for (const name of await readdir(folder)) {
      if (!name.endsWith(".ts")) continue;
      const source = await readFile(`${folder}/${name}`, "utf8");
      for (const line of source.replaceAll(/\n\s*(?=[.?&|:])/g, "").split("\n")) {
        if (matching.test(line)) found.push(`${name}: ${line.trim()}`);
      }
    }
  }
  const others = found.filter((line) =>
    !allowed.some((each) => {
      const [file = "", part = ""] = each.split(": ");
      return line.startsWith(file) && line.includes(part);
    })
  );
  deepStrictEqual(others, []);
});

Deno.test("the rule finds what matches a message", () => {
  const lines = [
    '/^role "(.*)"$/s.exec(message)?.[1]',
    "/x/.exec(fields.message)",
    'message.endsWith("x")',
    'details?.includes("x")',
    '!failure.message.startsWith("x")',
  ];
  deepStrictEqual(lines.filter((line) => !matching.test(line)), []);
});
