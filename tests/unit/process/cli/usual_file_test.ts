import { strictEqual } from "node:assert/strict";
import { parseArguments } from "../../../../src/process/cli/arguments.ts";
import { commands } from "../../../../src/process/cli/commands.ts";
import { withUsualFile } from "../../../../src/process/cli/usual_file.ts";

const rows: readonly (readonly [
  line: string,
  file: string | null,
  environment?: Readonly<Record<string, string>>,
])[] = [
  ["", "svc.conf"],
  ["--db-pool=2", "svc.conf"],
  ["--dump-config", "svc.conf"],
  ["check", "svc.conf"],
  ["token --role=a", "svc.conf"],
  ["other.conf", "other.conf"],
  ["check other.conf", "other.conf"],
  ["postgres://localhost/shop", null],
  ["check --db-uri=postgres://localhost/shop", null],
  ["init", null],
  ["demo", null],
  ["", null, { SVC_DB_URI: "postgres://localhost/shop" }],
  ["check", null, { DATABASE_URL: "postgres://localhost/shop" }],
  ["", null, { SVC_DIALECT: "pgrst" }],
  ["--dialect=pgrst", null],
];

for (const [line, file, environment = {}] of rows) {
  const names = Object.keys(environment).join(", ");
  Deno.test(`withUsualFile() reads ${file ?? "no file"} for svc ${line} ${names}`.trim(), () => {
    const isFile = (path: string) => path === "svc.conf";
    const words = line.split(" ").filter((word) => word !== "");
    const parsed = parseArguments(words, { commands, isFile: () => false });
    const fileWith = (context: Parameters<typeof withUsualFile>[1]) => {
      const call = withUsualFile(parsed, context);
      return call.kind === "command" ? call.call.config.file : "config" in call && call.config.file;
    };
    strictEqual(fileWith({ environment, isFile }), file);
    if (file === "svc.conf") strictEqual(fileWith({ environment, isFile: () => false }), null);
  });
}
