import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { type Command, flagsOf } from "../../../../src/api/command.ts";
import { parseArguments } from "../../../../src/process/cli/arguments.ts";
import { commands } from "../../../../src/process/cli/commands.ts";
import { shellWords } from "../../../support/docs/curl.ts";
import { helpText, usage, versionText } from "../../../../src/process/cli/help.ts";
import { version } from "../../../../src/base/version.ts";

const paint: Command = {
  name: "paint",
  doc: "Paint the fence",
  example: "paint --dry north.wall",
  page: "docs/how-to/paint.md",
  flags: flagsOf({
    "--dry": "Paint nothing",
    "--coat[=N]": "Number of coats",
    "--out=FILE": "File to write",
    "-c TEXT": "Colour",
  }),
  operands: { pattern: /\.wall$/, placeholder: "FILE.wall", doc: "Wall to paint" },
  run: () => Promise.resolve(0),
};

Deno.test("versionText() returns name and version in one line", () => {
  strictEqual(versionText(), `SVC ${version}\n`);
});

Deno.test("usage() shows every flag", () => {
  const rest = "[-h|--help] [-v|--version] [-e|--example] [--dump-config] [--dump-schema] " +
    "[--types] [--ready] [--KEY=VALUE]… [FILE | CONNECTION]\n";
  strictEqual(usage(null, []), `Usage: svc ${rest}`);
  strictEqual(usage(null, [paint]), `Usage: svc [COMMAND] ${rest}`);
  strictEqual(
    usage(paint, [paint]),
    "Usage: svc paint [--dry] [--coat[=N]] [--out=FILE] [-c TEXT] [FILE.wall]… " +
      "[--KEY=VALUE]… [FILE | CONNECTION]\n",
  );
});

Deno.test("helpText() shows usage, version, commands and every flag", () => {
  const text = helpText(null, [paint]);
  strictEqual(text.startsWith(usage(null, [paint])), true);
  match(text, /^ {2}SVC \S+ \/ create a REST API to an existing Postgres database$/m);
  match(text, /^Commands:\n {2}paint {2}Paint the fence\n\n/m);
  match(text, /^ {2}-e, --example {5}Show an example file and exit$/m);
  match(text, /^ {2}--port=PORT {7}The option server-port$/m);
  match(text, /^ {2}--KEY=VALUE {7}Any option of the file, such as --db-pool=20$/m);
  strictEqual(helpText(null, []).includes("Commands:"), false);
});

for (const command of commands) {
  Deno.test(`helpText() of ${command.name} has an example that parses, and a page that exists`, () => {
    const { name, example, page } = command;
    ok(helpText(command, commands).includes(`svc ${example}\n`));
    const words = shellWords(example.split(" > ")[0]!, {});
    const call = parseArguments(words, { commands, isFile: () => false });
    deepStrictEqual([call.kind, "command" in call && call.command?.name], ["command", name]);
    const text = Deno.readTextFileSync(new URL(`../../../../${page}`, import.meta.url));
    ok(new RegExp(`(svc|main\\.ts) ${name}\\b`).test(text), page);
  });
}

Deno.test("helpText() of a command shows its flags", () => {
  const text = helpText(paint, [paint]);
  match(text, /^ {2}svc paint: Paint the fence$/m);
  match(text, /^ {2}--coat\[=N\] {8}Number of coats$/m);
  match(text, /^ {2}FILE\.wall {9}Wall to paint$/m);
  match(text, /^Example:\n {2}svc paint --dry north\.wall\n\n/m);
  match(text, /: docs\/how-to\/paint\.md\n$/);
  strictEqual(text.includes("--dump-config"), false);
});
