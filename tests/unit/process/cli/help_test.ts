import { match, strictEqual } from "node:assert/strict";
import { type Command, flagsOf } from "../../../../src/api/command.ts";
import { helpText, usage, versionText } from "../../../../src/process/cli/help.ts";
import { version } from "../../../../src/base/version.ts";

const paint: Command = {
  name: "paint",
  doc: "Paint the fence",
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

Deno.test("helpText() of a command shows its flags", () => {
  const text = helpText(paint, [paint]);
  match(text, /^ {2}svc paint: Paint the fence$/m);
  match(text, /^ {2}--coat\[=N\] {8}Number of coats$/m);
  match(text, /^ {2}FILE\.wall {9}Wall to paint$/m);
  strictEqual(text.includes("--dump-config"), false);
});
