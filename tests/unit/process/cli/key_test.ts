import { match, rejects, strictEqual } from "node:assert/strict";
import { keyCommand } from "../../../../src/process/cli/key.ts";

/** Flags that the command refuses, and the message. */
const refused: readonly (readonly [flags: Readonly<Record<string, string>>, message: RegExp])[] = [
  [{}, /^cannot list the key: name is missing$/],
  [{ "--name": "web" }, /^cannot list the key: role is missing$/],
  [{ "--name": "a b", "--role": "anon" }, /^cannot list the key: invalid value of name$/],
  [{ "--name": "web", "--role": "none" }, /^cannot list the key: invalid value of role$/],
  [{ "--name": "web", "--role": "anon", "--claims": "[]" }, /key: invalid value of claims$/],
  [{ "--name": "web", "--role": "anon", "--claims": "{" }, /key: invalid value of claims$/],
];

for (const [flags, message] of refused) {
  Deno.test(`svc key refuses ${JSON.stringify(flags)}`, async () => {
    const call = {
      config: { file: null, flags: new Map() },
      flags: new Map(Object.entries(flags)),
      operands: [],
    } as unknown as Parameters<typeof keyCommand.run>[0];
    await rejects(async () => await keyCommand.run(call, null!), { message });
  });
}

const noKey = /--sha256: expected a key of ASCII without spaces/;

async function run(args: readonly string[], input: string): Promise<readonly [string, string]> {
  const main = new URL("../../../../main.ts", import.meta.url).pathname;
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", main, "key", "--name=web", "--role=anon", ...args],
    env: { NO_COLOR: "1" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { stdout, stderr } = await child.output();
  return [new TextDecoder().decode(stdout), new TextDecoder().decode(stderr)];
}

Deno.test("svc key prints a key, and the entry with its hash", async () => {
  const claims = '--claims={"a":1}';
  const [made, errors] = await run([claims], "");
  strictEqual(errors, "");
  const [key, entry] = made.trim().split("\n") as [string, string];
  match(key, /^svc_[\w-]{43}$/);
  match(entry, /^\{"name":"web","sha256":"[0-9a-f]{64}","role":"anon","claims":\{"a":1\}\}$/);
  const [hashed] = await run(["--sha256", claims], `${key}\n`);
  strictEqual(hashed.trim(), entry);
  const inputs = [["a.b.c\n", /this is a JWT, which api-keys cannot list/]] as const;
  for (
    const [input, message] of [
      ...inputs,
      ...["", "a b", "schlüssel"].map((text) => [text, noKey] as const),
    ]
  ) {
    match((await run(["--sha256"], input))[1], message);
  }
});
