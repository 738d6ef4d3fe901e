/** Generates load with wrk: writes the script, runs wrk, and reads its output. @module */
import { join } from "node:path";
import { templateParts, type User } from "./template.ts";

/** A request that is sent again and again. */
export interface LoadRequest {
  /** A template such as `GET /items?id=eq.{1..100}`. */
  readonly line: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Users. Each request has the token of a random user. Default: requests have no token. */
  readonly users?: readonly User[];
}

/** Server, connections and duration of a load. */
export interface Load {
  /** `http://127.0.0.1:3000` */
  readonly origin: string;
  readonly connections: number;
  readonly seconds: number;
}

/** The result of a load. Times are in milliseconds. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Number of answers with a status of 400 or more. */
  readonly refused: number;
  /** Number of failed connections and missing answers. */
  readonly broken: number;
}

const install = "wrk is missing: apt-get install wrk (Debian, Ubuntu), brew install wrk (macOS)";

/** If wrk is not installed, rejects with an `Error` that contains the command to install it. */
export async function needWrk(): Promise<void> {
  try {
    await new Deno.Command("wrk", { args: ["-v"], stdout: "null", stderr: "null" }).output();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) throw new Error(install);
    throw error;
  }
}

/** Runs a load to its end. */
export async function runWrk(
  request: LoadRequest,
  { origin, connections, seconds }: Load,
): Promise<LoadResult> {
  const folder = await Deno.makeTempDir({ prefix: "svc_wrk_" });
  try {
    const script = join(folder, "load.lua");
    await Deno.writeTextFile(script, wrkScript(request, origin));
    const { success, stdout, stderr } = await new Deno.Command("wrk", {
      args: ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", "120s", "-s", script, origin],
    }).output();
    const text = new TextDecoder().decode(stdout);
    if (!success) throw new Error(`wrk failed:\n${text}${new TextDecoder().decode(stderr)}`);
    return parseWrk(text);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The part of the script that writes the results as JSON. */
const report = `
done = function(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\\n{"requests":%d,"microseconds":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
`;

/** Returns a request's headers; the token is a placeholder of a template. */
export function headersOf({ users, body, headers }: LoadRequest): Readonly<Record<string, string>> {
  return Object.fromEntries([
    ...(users === undefined ? [] : [["Authorization", "Bearer {token}"]]),
    ...(body === undefined ? [] : [["Content-Type", "application/json"]]),
    ...Object.entries(headers ?? {}),
  ]);
}

/** Returns the script, which joins the constant parts of a request with random values. */
export function wrkScript(request: LoadRequest, origin: string): string {
  const { users = [] } = request;
  const parts = templateParts(requestText(request, new URL(origin).host));
  const names = parts.map((part, index) => part.kind === "text" ? `part${index}` : part.lua);
  return [
    `local users = {${users.map(({ number }) => number).join(",")}}`,
    `local tokens = {${users.map(({ token }) => luaText(token)).join(",")}}`,
    ...parts.flatMap((part, index) =>
      part.kind === "text" ? [`local part${index} = ${luaText(part.text)}`] : []
    ),
    "request = function()",
    ...(users.length === 0 ? [] : ["  local user = math.random(#tokens)"]),
    `  return ${names.join(" .. ")}`,
    "end",
    report,
  ].join("\n");
}

function requestText(request: LoadRequest, host: string): string {
  const { line, body = "" } = request;
  const length = body === "" ? {} : { "Content-Length": new TextEncoder().encode(body).length };
  const headers = { Host: host, ...headersOf(request), ...length };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** Returns a Lua string. Lua has the escapes of JSON for ASCII characters. */
function luaText(text: string): string {
  return JSON.stringify(text);
}

/** Parses the line of the script. Throws an `Error` with the whole output if the line is missing. */
export function parseWrk(text: string): LoadResult {
  const line = text.split("\n").findLast((each) => each.startsWith("{"));
  if (line === undefined) throw new Error(`wrk said nothing of its requests:\n${text}`);
  const { requests, microseconds, p50, p99, refused, broken } = JSON.parse(line);
  return {
    requests,
    perSecond: requests / microseconds * 1_000_000,
    p50: p50 / 1000,
    p99: p99 / 1000,
    refused,
    broken,
  };
}
