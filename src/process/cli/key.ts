/** `svc key`: prints a new API key, and its entry of `api-keys`. @module */
import { readFileSync } from "node:fs";
import { base64url } from "jose";
import { type Command, type CommandCall, flagsOf } from "../../api/command.ts";
import { print } from "../../base/observe/output.ts";
import { parseJsonObject } from "../../base/lib/json_object.ts";
import { hashOf, isOpaque } from "../../state/auth/api_keys.ts";
import { apiKeyList } from "../../state/config/api_keys.ts";
import type { CodecContext } from "../../state/config/codecs.ts";
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

/** As many random bytes as the hash has. */
const keyBytes = 32;

async function key({ config: args, flags }: CommandCall): Promise<number> {
  const entry = entryOf(flags);
  const listed = args.file === null ? null : configReader(args, { wingOptions }).config.apiKeys;
  if (listed?.some(({ name }) => name === entry.name)) {
    throw new Error(`api-keys has a key with the name ${entry.name}`);
  }
  const isGiven = flags.has("--sha256");
  const text = isGiven ? readFileSync(0, "utf8").trim() : newKey();
  if (text === "") throw new Error("--sha256: standard input is empty");
  if (!isOpaque(text)) throw new Error("--sha256: this is a JWT, which api-keys cannot list");
  if (!isGiven) print(`${text}\n`);
  const { name, role, claims } = entry;
  const line = JSON.stringify({ name, sha256: await hashOf(text), role, claims });
  print(`${line}\n`);
  return 0;
}

/** Returns the name, the role and the claims of the flags. */
function entryOf(flags: CommandCall["flags"]) {
  const [name = "", role = ""] = [flags.get("--name"), flags.get("--role")];
  const text = flags.get("--claims");
  const claims = text === undefined ? undefined : parseJsonObject(text);
  if (claims === null) throw new Error("--claims: expected a JSON object");
  const entry = { name, role, claims };
  const sha256 = "0".repeat(keyBytes * 2);
  const read = apiKeyList.read(JSON.stringify([{ ...entry, sha256 }]), noFiles);
  if (read.kind === "value") return entry;
  throw new Error("--name and --role are required; a name has letters, digits, ., _ and -");
}

const noFiles: CodecContext = {
  readFile: () => {
    throw new Error("flags name no files");
  },
  secretIsBase64: false,
  invalidConfig: "rejected",
};

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(keyBytes));
  return `svc_${base64url.encode(bytes)}`;
}
