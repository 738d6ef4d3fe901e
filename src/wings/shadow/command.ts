/** `svc shadow`: repeats the reads of another server on this one, and compares the responses. @module */
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { serviceHandler } from "../../api/handler/handler.ts";
import { turn } from "../../base/lib/timers.ts";
import { isRead, proxyHandler } from "./proxy.ts";
import { Shadow } from "./shadow.ts";
import { Tally } from "./tally.ts";
import { type Command, type CommandCall, type CommandContext, flagsOf } from "../../api/command.ts";
import { print, printError } from "../../base/observe/output.ts";
import type { ReadLine } from "./shape.ts";

export const shadowCommand: Command = {
  name: "shadow",
  doc: "Pass requests to another server, and compare its answers to reads with those of svc",
  example: "shadow --upstream http://localhost:3300 svc.conf",
  page: "docs/how-to/compare-with-postgrest.md",
  flags: flagsOf({
    "--upstream URL": "The server that answers",
    "--log FILE": "Repeat the reads of an access log",
    "--sample N": "Compare N percent of the reads",
    "--token JWT": "Token of the reads of the log",
  }),
  failureCode: 2,
  run: shadow,
};

async function shadow({ config, flags }: CommandCall, context: CommandContext): Promise<number> {
  const [log, token] = [flags.get("--log"), flags.get("--token")];
  if (token !== undefined && log === undefined) throw new Error("--token needs --log FILE");
  const tally = new Tally();
  const upstream = upstreamOf(flags.get("--upstream") ?? "");
  const percent = Number(flags.get("--sample") ?? 100);
  if (!(percent > 0 && percent <= 100)) throw new Error("expected --sample N with 0 < N <= 100");
  const isSampled = () => Math.random() * 100 < percent;
  const options = { upstream, fetch, tally, now: () => performance.now(), isSampled, pause: turn };
  const settings = { ...config, flags: new Map([...config.flags, ...unusedOptions]) };
  if (log !== undefined) {
    return await context.withDatabase(settings, async (appState) => {
      await appState.reloadSchema();
      if (appState.snapshot.cache === null) throw new Error("the schema cache cannot be loaded");
      await replay(log, token, new Shadow({ ...options, handle: serviceHandler(appState) }));
      if (tally.compared === 0) throw new Error(`cannot compare ${log}: no read has two answers`);
      print(tally.report());
      return tally.differing.length > 0 ? 1 : 0;
    });
  }
  const timer = setInterval(() => printError(tally.line()), reportMs);
  const code = await context.serve(settings, {
    opensConsole: false,
    front: (handle) => {
      const compared = new Shadow({ ...options, handle });
      return { handle: proxyHandler(compared), stop: () => compared.stop() };
    },
  });
  clearInterval(timer);
  print(tally.report());
  return code;
}

function upstreamOf(text: string): string {
  const url = new URL(URL.canParse(text) ? text : "none:");
  if (!/^https?:$/.test(url.protocol) || `${url.username}${url.search}` !== "") {
    throw new Error("expected --upstream URL, such as http://postgrest:3000");
  }
  return url.origin + url.pathname.replace(/\/$/, "");
}

/** Options without effect, because they concern requests to svc itself. */
const unusedOptions = (["live-path", "mcp-path", "rate-limits", "server-workers"] as const).map(
  (key) => [key, { name: `--${key}`, value: "" }] as const,
);

/** Milliseconds between lines of progress. */
const reportMs = 60_000;
/** Maximum number of concurrent reads from a log. */
const maxReplayed = 4;

/** Repeats the reads of a log on both servers. Rejects if the log cannot be read. */
async function replay(log: string, token: string | undefined, shadow: Shadow): Promise<void> {
  const { tally, isSampled } = shadow.options;
  const headers = new Headers({ "Accept-Encoding": "identity" });
  if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
  const lines = createInterface({ input: createReadStream(log) })[Symbol.asyncIterator]();
  const work = async () => {
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      const request = requestOfLine(line.value);
      if (request !== null) tally.requests++;
      const read = request && { ...request, headers };
      if (read === null || !isRead(read) || !isSampled()) continue;
      await shadow.compare(read, await shadow.request(read).catch(() => null));
    }
  };
  await Promise.all(Array.from({ length: maxReplayed }, work));
}

/** Returns the request in a line of an access log in the common or combined format; null for other lines. */
export function requestOfLine(line: string): ReadLine | null {
  const [, method, target] = /\] "([A-Z]+) (\/\S*) HTTP\/[\d.]+" \d{3} /.exec(line) ?? [];
  if (method === undefined || target === undefined) return null;
  // Converts the escapes of nginx, such as \x22 for a quotation mark, to percent-encoding.
  const bytes = (_: string, hex: string) => `%${hex}`;
  return { method, target: target.replace(/\\x([0-9A-F]{2})/g, bytes).replace(/\\"/g, "%22") };
}
