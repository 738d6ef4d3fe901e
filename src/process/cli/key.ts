/** `svc key`: prints a new API key, and its entry of `api-keys`. @module */
import { readFileSync } from "node:fs";
import { base64url } from "jose";
import { type Command, type CommandCall, flagsOf } from "../../api/command.ts";
import { print } from "../../base/observe/output.ts";
import { parseJson } from "../../base/lib/json_object.ts";
import { hashOf, isOpaque } from "../../state/auth/api_keys.ts";
import { apiKeyList } from "../../state/config/api_keys.ts";
import { configReader } from "../../state/config/config_files.ts";
import { wingOptions } from "../wings.ts";

export const keyCommand: Command = {
  name: "key",
  doc: "Print a new API key, and its entry for api-keys",
  example: "key --name=jobs --role=service_role svc.conf",
  page: "docs/how-to/move-from-supabase.md",
  flags: flagsOf({
    "--name=NAME": "Name of the key in logs, metrics and limits",
    "--role=ROLE": "Role of requests with the key",
    "--claims=JSON": "Claims of these requests, as a JSON object; default: none",
    "--sha256": "Read the key from standard input, such as one of another server",
  }),
  run: key,
};

async function key({ config: args, flags }: CommandCall): Promise<number> {
  const isGiven = flags.has("--sha256");
  const text = isGiven ? readFileSync(0, "utf8").trim() : newKey();
  if (!/^[!-~]+$/.test(text)) throw new Error("--sha256: expected a key of ASCII without spaces");
  if (!isOpaque(text)) throw new Error("--sha256: this is a JWT, which api-keys cannot list");
  const [name, role, claims] = ["--name", "--role", "--claims"].map((flag) => flags.get(flag));
  const sha256 = await hashOf(text);
  const entry = { name, sha256, role, claims: claims === undefined ? claims : parseJson(claims) };
  const listed = args.file === null ? null : configReader(args, { wingOptions }).config.apiKeys;
  const context = {
    readFile: readFileSync,
    secretIsBase64: false,
    invalidConfig: "rejected",
  } as const;
  const read = apiKeyList.read(JSON.stringify([...listed ?? [], entry]), context);
  if (read.kind === "problem") {
    throw new Error(read.problem.replace(/^key \d+/, "cannot list the key"));
  }
  if (!isGiven) print(`${text}\n`);
  print(`${JSON.stringify(entry)}\n`);
  return 0;
}

function newKey(): string {
  // The key has as many random bytes as its hash has bytes.
  return `svc_${base64url.encode(crypto.getRandomValues(new Uint8Array(32)))}`;
}
