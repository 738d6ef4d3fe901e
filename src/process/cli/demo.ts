/** The command `demo`: serves an example on an embedded database and prints requests to try.
 * @module */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { SignJWT } from "jose";
import type { ConfigFlags } from "../../state/config/load.ts";
import { environmentName } from "../../state/config/names.ts";
import type { Config } from "../../state/config/options.ts";
import type { Command, CommandCall, CommandContext } from "../../api/command.ts";
import { type DemoExample, examples, type TryRequest } from "./examples.ts";
import { print } from "../../base/observe/output.ts";
import { findNextPort, findPort, type IsFreePort, isFreePort } from "../../base/lib/free_ports.ts";

const exampleNames = Array.from(examples.keys()).join(" or ");

export const demoCommand: Command = {
  name: "demo",
  doc: `Serve an example on an embedded database: ${exampleNames}`,
  example: "demo shop",
  page: "docs/tutorials/first-requests.md",
  readsUsualFile: false,
  flags: [],
  run,
};

const [defaultExample] = examples.keys();

async function run({ config }: CommandCall, { serve }: CommandContext): Promise<number> {
  const name = config.file ?? defaultExample!;
  const example = examples.get(name);
  if (config.flags.has("db-uri")) {
    throw new Error("demo: serves a database of its own: leave out db-uri");
  }
  if (example === undefined) {
    throw new Error(`demo: unknown example ${JSON.stringify(name)}: expected ${exampleNames}`);
  }
  // The files are written from texts in the program, which may run without a checkout.
  const folder = mkdtempSync(join(tmpdir(), "svc-demo-"));
  try {
    writeFileSync(join(folder, "svc.conf"), example.config);
    writeFileSync(join(folder, example.sql.name), example.sql.text);
    const flags = await portFlags(config.flags, process.env, isFreePort);
    return await serve({ file: join(folder, "svc.conf"), flags }, {
      opensConsole: true,
      onListening: async (effective) => print(await requestsText(example, effective)),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Adds the next free ports to flags, for servers whose port is not set by a flag or variable. */
export async function portFlags(
  flags: ConfigFlags,
  environment: Readonly<Record<string, string | undefined>>,
  isFree: IsFreePort,
): Promise<ConfigFlags> {
  const [key, adminKey] = ["server-port", "admin-server-port"] as const;
  const given = (name: typeof key | typeof adminKey) =>
    flags.get(name)?.value ?? environment[environmentName(name)];
  const port = given(key) ?? String(await findPort(isFree));
  const admin = given(adminKey) ?? String(await findNextPort(Number(port), isFree));
  return new Map([
    ...flags,
    [key, { name: `--${key}`, value: port }],
    [adminKey, { name: `--${adminKey}`, value: admin }],
  ]);
}

/** Returns the text that shows the tokens and the requests to try. */
export async function requestsText(
  { tokens, requests }: DemoExample,
  { serverPort, adminServerPort, jwtSecret, serverPathPrefix }: Pick<
    Config,
    "serverPort" | "adminServerPort" | "jwtSecret" | "serverPathPrefix"
  >,
): Promise<string> {
  const signed = await Promise.all(
    Object.entries(tokens).map(async ([name, claims]) => {
      const token = await new SignJWT(claims).setProtectedHeader({ alg: "HS256" })
        .sign(jwtSecret ?? new Uint8Array());
      return { token, line: `  ${name}=${token}   # ${claims.role} ${claims.sub}` };
    }),
  );
  const base = `http://localhost:${serverPort}${serverPathPrefix ?? ""}`;
  const steps = requests.map((request) =>
    `${request.title}:\n\n${command(request, { base, token: signed[0]!.token })}`
  );
  const page = adminServerPort === null
    ? ""
    : `The console, in a browser: http://localhost:${adminServerPort}\n\n`;
  const lines = signed.map(({ line }) => line).join("\n");
  return `\n${
    steps.join("\n\n")
  }\n\nTokens, for the requests of the documentation:\n\n${lines}\n\n` +
    `${page}Stop with Ctrl-C.\n`;
}

function command(
  { path, body }: TryRequest,
  { base, token }: { readonly base: string; readonly token: string },
): string {
  const lines = body === undefined ? [`curl '${base}${path}'`] : [
    `curl '${base}${path}' -H 'Content-Type: application/json'`,
    `  -H 'Prefer: return=representation' -d '${body}'`,
    `  -H 'Authorization: Bearer ${token}'`,
  ];
  return lines.map((line) => `  ${line}`).join(" \\\n");
}
