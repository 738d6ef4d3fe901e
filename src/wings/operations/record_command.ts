/** `svc record`: serves, and adds the operations of requests that succeed to a file. @module */
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { type Command, type CommandCall, type CommandContext, flagsOf } from "../../api/command.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import { isFile } from "../../base/lib/files.ts";
import { parseJsonObject } from "../../base/lib/json_object.ts";
import { printError } from "../../base/observe/output.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import { splitUrl } from "../../api/request/raw_request.ts";
import { OperationRecorder, RecordingGuard } from "./recorder.ts";

export const recordCommand: Command = {
  name: "record",
  doc: "Serve, and add the requests that succeed to a file of operations",
  example: "record api.operations svc.conf",
  page: "docs/how-to/permit-known-requests.md",
  flags: flagsOf({ "--from FILE": "Read the requests of an access log in JSON instead" }),
  operands: { pattern: /\.operations$/, placeholder: "FILE.operations", doc: "File to add to" },
  failureCode: 2,
  run: record,
};

async function record(
  { config, flags, operands: [file, other] }: CommandCall,
  context: CommandContext,
): Promise<number> {
  if (file === undefined || other !== undefined) throw new Error("expected FILE.operations");
  const recorder = new OperationRecorder(
    isFile(file) ? readFileSync(file, "utf8") : "",
    (text) => writeFileSync(file, text),
  );
  const own = { ...config, flags: new Map([...config.flags, ...unusedOptions]) };
  const log = flags.get("--from");
  if (log === undefined) {
    const openGuard = (snapshot: Snapshot) => new RecordingGuard(snapshot, recorder);
    return await context.serve(own, { wings: [{ openGuard }] });
  }
  return await context.withDatabase(own, async (appState) => {
    await appState.reloadSchema();
    if (appState.snapshot.cache === null) throw new Error("the schema cache cannot be loaded");
    const left = await readLog(log, appState.snapshot, recorder);
    if (left > 0) printError(`svc record: left out ${left} writes: the log has no bodies`);
    return 0;
  });
}

/** Options without effect: what runs in other threads cannot be recorded. */
const unusedOptions = (["operations", "server-workers"] as const).map(
  (key) => [key, { name: `--${key}`, value: "" }] as const,
);

/** Adds the reads of a log. Returns the number of writes, whose bodies the log lacks. */
async function readLog(
  log: string,
  snapshot: Snapshot,
  recorder: OperationRecorder,
): Promise<number> {
  let left = 0;
  for await (const line of createInterface({ input: createReadStream(log) })) {
    const { method, target, role, status } = parseJsonObject(line) ?? {};
    const isRequest = typeof method === "string" && typeof target === "string" &&
      target.startsWith("/");
    if (!isRequest || typeof role !== "string" || !(Number(status) < 400)) continue;
    if (/^(?:POST|PATCH|PUT|QUERY)$/.test(method)) {
      left++;
      continue;
    }
    const pieces = { method, ...splitUrl(`http://localhost${target}`), headers: {}, cookies: {} };
    try {
      recorder.add({ pieces, role, payload: null }, snapshot);
    } catch (error) {
      // The log also has requests to endpoints.
      if (!(error instanceof ServiceError)) throw error;
    }
  }
  return left;
}
