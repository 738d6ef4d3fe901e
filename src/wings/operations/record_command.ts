/** `svc record`: serves, and adds the operations of successful requests to a file. @module */
import { readFileSync, writeFileSync } from "node:fs";
import type { Command, CommandCall, CommandContext } from "../../api/command.ts";
import { isFile } from "../../base/lib/files.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import { OperationRecorder, RecordingGuard } from "./recorder.ts";

export const recordCommand: Command = {
  name: "record",
  doc: "Serve, and add the requests that succeed to a file of operations",
  example: "record api.operations svc.conf",
  page: "docs/how-to/permit-known-requests.md",
  flags: [],
  operands: { pattern: /\.operations$/, placeholder: "FILE.operations", doc: "File to add to" },
  failureCode: 2,
  run: record,
};

async function record(
  { config, operands: [file, other] }: CommandCall,
  { serve }: CommandContext,
): Promise<number> {
  if (file === undefined || other !== undefined) throw new Error("expected FILE.operations");
  const recorder = new OperationRecorder(
    isFile(file) ? readFileSync(file, "utf8") : "",
    (text) => writeFileSync(file, text),
  );
  const settings = { ...config, flags: new Map([...config.flags, ...unusedOptions]) };
  const openGuard = (snapshot: Snapshot) => new RecordingGuard(snapshot, recorder);
  return await serve(settings, { wings: [{ openGuard }] });
}

/** Options that are reset, because recording permits all requests, and only sees requests of its thread. */
const unusedOptions = (["operations", "server-workers"] as const).map(
  (key) => [key, { name: `--${key}`, value: "" }] as const,
);
