/** The runtimes: how each is installed, started with its example, and asked. @module */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle, externalWithMcp } from "../../tools/build/build.ts";
import { authenticator, fixtureSql } from "../support/database/fixture.ts";
import { withClient } from "../support/database/postgres_client.ts";
import type { PostgresServer } from "../support/database/postgres_server.ts";
import { runInBrowser } from "./browser.ts";
import { coldStart } from "./cold_start.ts";
import { bothReports, runMcpSuite, suiteMcpPath } from "./mcp_suite.ts";
import { installPackages } from "./npm_folder.ts";
import {
  suiteCookie,
  suiteHealthPath,
  suiteRateLimits,
  suiteRequestIdHeader,
  suiteSecret,
} from "./cases.ts";
import { type Report, runSuite, type Send } from "./suite.ts";

/** What a runtime gets to work with. */
export interface Place {
  /** For what is installed; removed afterwards. */
  readonly folder: string;
  readonly server: PostgresServer;
  /** Where the key set of the suite is. */
  readonly keysUrl: string;
}

/** How it went; without a report it was skipped for a reason. */
export interface Outcome {
  readonly version: string;
  readonly report?: Report;
  readonly reason?: string;
  /** What was measured. */
  readonly note?: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));

const bunVersion = "1.4.5";
const miniflareVersion = "4.20260730.0";

/** The fixture of the suite. */
const fixture = { name: "tests/runtimes/shop.sql", roles: ["anon", "writer"] } as const;

/** All runtimes, in the order of the lines. */
export const runtimes: Readonly<Record<string, (place: Place) => Promise<Outcome>>> = {
  deno: runInDeno,
  node: runInNode,
  bun: runInBun,
  workerd: runInWorkerd,
  browser: async ({ folder }) => await runInBrowser({ folder, sql: await fixtureSql(fixture) }),
};

async function runInDeno(place: Place): Promise<Outcome> {
  const report = await runServed({
    command: [Deno.execPath(), "run", "-A", "examples/deno_app/app.ts"],
    env: await environment(place),
    path: "/api",
    hasMcp: true,
  });
  return { version: Deno.version.deno, report };
}

async function runInNode(place: Place): Promise<Outcome> {
  const version = await versionOf("node");
  if (version === null) return { version: "", reason: "node is not installed" };
  const env = await environment(place);
  await installPackages(place.folder, { [mcpLibrary]: mcpLibraryVersion });
  const server = await copyBuild(place.folder);
  const report = await runServed({ command: ["node", server], env, hasMcp: true });
  const milliseconds = await coldStart(env, place.folder);
  const note = `first answer ${milliseconds} ms after the import with a given schema cache`;
  return { version, report, note };
}

const architectures: Readonly<Record<string, string>> = { x86_64: "x64", aarch64: "aarch64" };

const mcpLibrary = "@modelcontextprotocol/server";
const mcpLibraryVersion = "2.4.0";

/** Copies the build and its example beside installed packages. Returns the path of the example. */
async function copyBuild(folder: string): Promise<string> {
  for (
    const path of ["dist/svc.js", "dist/mcp.js", "dist/package.json", "examples/node/server.mjs"]
  ) {
    await Deno.mkdir(join(folder, path, ".."), { recursive: true });
    await Deno.copyFile(join(root, path), join(folder, path));
  }
  return join(folder, "examples/node/server.mjs");
}

/** The package of this platform is installed alone: `bun` itself would find it by an install script. */
async function runInBun(place: Place): Promise<Outcome> {
  const { folder } = place;
  const { os, arch } = Deno.build;
  const name = `@oven/bun-${os}-${architectures[arch] ?? arch}`;
  await installPackages(folder, { [name]: bunVersion });
  const bun = join(folder, "node_modules", name, "bin", "bun");
  const report = await runServed({
    command: [bun, "examples/bun/server.js"],
    env: await environment(place),
  });
  return { version: await versionOf(bun) ?? "", report };
}

async function runInWorkerd(place: Place): Promise<Outcome> {
  const { folder } = place;
  if (await versionOf("node") === null) return { version: "", reason: "node is not installed" };
  await installPackages(folder, { miniflare: miniflareVersion });
  const { SVC_DB_URI: uri } = await environment(place);
  const bindings = {
    DB_URI: uri,
    DB_SCHEMAS: "api",
    DB_ANON_ROLE: "anon",
    JWT_SECRET: suiteSecret,
    JWT_JWKS_URL: place.keysUrl,
    JWT_COOKIE_NAME: suiteCookie,
    RATE_LIMITS: suiteRateLimits,
    COMPRESSION: "gzip",
    REQUEST_ID_HEADER: suiteRequestIdHeader,
    HEALTH_PATH: suiteHealthPath,
    SECURITY_HEADERS: "true",
    QUERY_METHOD: "true",
  };
  const report = await runServed({
    command: ["node", "tests/runtimes/serve_worker.mjs", folder, JSON.stringify(bindings)],
    env: {},
    send: sendWithLimit,
  });
  const mcpWorker = join(folder, "mcp_worker.js");
  await bundle("tests/runtimes/mcp_worker.ts", mcpWorker, externalWithMcp);
  const withMcp = await runServed({
    command: [
      "node",
      "tests/runtimes/serve_worker.mjs",
      folder,
      JSON.stringify(bindings),
      mcpWorker,
    ],
    env: {},
    hasMcp: "alone",
  });
  return { version: `of miniflare ${miniflareVersion}`, report: bothReports(report, withMcp) };
}

/** What configures `handler`, with a new database. */
async function environment({ server, keysUrl }: Place): Promise<Readonly<Record<string, string>>> {
  const name = `shop_${crypto.randomUUID().replaceAll("-", "")}`;
  await withClient(server.uri(), (client) => client.query(`create database ${name}`));
  const sql = await fixtureSql(fixture);
  await withClient(server.uri({ database: name }), (client) => client.query(sql));
  const login = { database: name, user: authenticator, password: authenticator };
  return {
    SVC_DB_URI: server.uri(login),
    SVC_DB_SCHEMAS: "api",
    SVC_MCP_PATH: suiteMcpPath,
    SVC_DB_ANON_ROLE: "anon",
    SVC_JWT_SECRET: suiteSecret,
    SVC_JWT_JWKS_URL: keysUrl,
    SVC_JWT_COOKIE_NAME: suiteCookie,
    SVC_RATE_LIMITS: suiteRateLimits,
    SVC_SERVER_COMPRESSION: "gzip",
    SVC_SERVER_REQUEST_ID_HEADER: suiteRequestIdHeader,
    SVC_SERVER_HEALTH_PATH: suiteHealthPath,
    SVC_SERVER_SECURITY_HEADERS: "true",
    SVC_SERVER_QUERY_METHOD: "true",
  };
}

async function versionOf(program: string): Promise<string | null> {
  try {
    const { stdout } = await new Deno.Command(program, { args: ["--version"] }).output();
    return new TextDecoder().decode(stdout).trim().replace(/^v/, "");
  } catch {
    return null;
  }
}

/**
 * Locally, Cloudflare's runtime does not tell a Worker that its client has left. The Worker is asked
 * to give the long query up itself, as it would then.
 */
function sendWithLimit(request: Request): Promise<Response> {
  if (request.url.includes("/rpc/wait?")) request.headers.set("X-Abort-After", "5000");
  return fetch(request);
}

interface Served {
  /** Says on its output where it listens. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where the handler is mounted. */
  readonly path?: string;
  readonly send?: Send;
  /** Whether the endpoint for agents is there: beside the API, or as what is tested alone. */
  readonly hasMcp?: true | "alone";
}

/** Starts a server, runs the suite over HTTP and stops the server. */
async function runServed(
  { command, env, path = "", send = fetch, hasMcp }: Served,
): Promise<Report> {
  const [program = "", ...args] = command;
  const child = new Deno.Command(program, {
    args,
    cwd: root,
    env: { ...env, PORT: "0" },
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const limit = setTimeout(() => child.kill("SIGKILL"), 240_000);
  try {
    const origin = await addressIn(output);
    void drain(output);
    const base = origin + path;
    const ofAgents = hasMcp === undefined ? null : await runMcpSuite(base + suiteMcpPath);
    if (hasMcp === "alone") return ofAgents!;
    const report = await runSuite(send, { base, cancels: true, sendsCookies: true });
    return ofAgents === null ? report : bothReports(report, ofAgents);
  } finally {
    clearTimeout(limit);
    child.kill("SIGTERM");
    await child.status;
  }
}

/** Reads until a line says `http://…:port/`; raises an `Error` with the output when none does. */
async function addressIn(output: ReadableStreamDefaultReader<string>): Promise<string> {
  let text = "";
  for (;;) {
    const { value, done } = await output.read();
    if (done) throw new Error(`the server ended: ${text}`);
    text += value;
    const port = /http:\/\/[^\s/]+:([0-9]+)\//.exec(text)?.[1];
    if (port !== undefined) return `http://127.0.0.1:${port}`;
  }
}

async function drain(output: ReadableStreamDefaultReader<string>): Promise<void> {
  while (!(await output.read()).done);
}
