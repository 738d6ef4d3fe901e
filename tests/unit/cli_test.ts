import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { type Command, helpText, parseArguments, usage, versionText } from "../../src/cli.ts";
import { version } from "../../src/version.ts";

const commands: readonly (readonly [argv: readonly string[], command: Command])[] = [
  [[], { kind: "run", file: null }],
  [["svc.conf"], { kind: "run", file: "svc.conf" }],
  [["-"], { kind: "run", file: "-" }],
  [["--", "--help"], { kind: "run", file: "--help" }],
  [["--"], { kind: "run", file: null }],
  [["-h"], { kind: "help" }],
  [["--help"], { kind: "help" }],
  [["-v"], { kind: "version" }],
  [["--version"], { kind: "version" }],
  [["-e"], { kind: "example" }],
  [["--example"], { kind: "example" }],
  [["--dump-config"], { kind: "dump-config", file: null }],
  [["--dump-config", "a"], { kind: "dump-config", file: "a" }],
  [["a", "--dump-config"], { kind: "dump-config", file: "a" }],
  [["--dump-config", "--", "a"], { kind: "dump-config", file: "a" }],
  [["a", "--bogus", "-v", "b"], { kind: "version" }],
  [["-e", "-v", "-h"], { kind: "help" }],
  [["-e", "-v"], { kind: "version" }],
  [["--bogus"], { kind: "error", message: 'unknown option "--bogus"' }],
  [["--dump-schema"], { kind: "error", message: 'unknown option "--dump-schema"' }],
  [["--ready", "a"], { kind: "error", message: 'unknown option "--ready"' }],
  [["-x\u001b[2J"], { kind: "error", message: 'unknown option "-x\\u001b[2J"' }],
  [["a", "b"], { kind: "error", message: 'unexpected argument "b"' }],
  [["a", "--", "b"], { kind: "error", message: 'unexpected argument "b"' }],
  [[""], { kind: "error", message: "the path of the configuration file is empty" }],
];

for (const [argv, command] of commands) {
  Deno.test(`parseArguments understands ${JSON.stringify(argv)}`, () => {
    deepStrictEqual(parseArguments(argv), command);
  });
}

Deno.test("versionText is the version's line", () => {
  strictEqual(versionText(), `SVC ${version}\n`);
});

Deno.test("usage shows every option", () => {
  strictEqual(
    usage(),
    "Usage: svc [-h|--help] [-v|--version] [-e|--example] [--dump-config] [FILENAME]\n",
  );
});

Deno.test("helpText shows usage, version and every option", () => {
  const text = helpText();
  strictEqual(text.startsWith(usage()), true);
  match(text, /^ {2}SVC \S+ \/ create a REST API to an existing Postgres database$/m);
  match(text, /^ {2}-e, --example {2}Show an example file and exit$/m);
});
