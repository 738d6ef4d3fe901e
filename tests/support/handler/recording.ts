/** Handlers that record operations, and handlers that permit recorded ones. @module */
import type { Handler } from "../../../mod.ts";
import { lazyHandler } from "../../../src/api/lazy_handler.ts";
import { wingOptions, wings } from "../../../src/process/wings.ts";
import { checkHandlerOptions, rejectFile } from "../../../src/state/config/handler_options.ts";
import { configSource } from "../../../src/state/config/source.ts";
import { dialects } from "../../../src/base/dialect.ts";
import { OperationRecorder, RecordingGuard } from "../../../src/wings/operations/recorder.ts";
import type { ApiConfig } from "./api.ts";
import { testSecret } from "./token.ts";

/** Opens a handler that adds the operations of its requests to a recorder. */
export function recordingHandler(
  config: ApiConfig & { readonly dbUri: string },
  recorder: OperationRecorder,
): Handler {
  const { dialect: name = "svc", ...others } = config;
  const dialect = dialects.get(name)!;
  const options = { dbConfig: true, jwtSecret: testSecret, ...others };
  const programmatic = { ...checkHandlerOptions(options, { dialect, wingOptions }), dialect };
  const sources = { file: null, environment: {}, readFile: rejectFile, programmatic, wingOptions };
  const recording = {
    name: "recording",
    openGuard: (snapshot: ConstructorParameters<typeof RecordingGuard>[0]) =>
      new RecordingGuard(snapshot, recorder),
  };
  return lazyHandler(() => configSource(sources), {
    connections: "pooled",
    wings: [recording, ...wings],
  });
}

/** Returns a recorder that starts with a text. */
export function recorderOf(text: string): OperationRecorder {
  return new OperationRecorder(text, () => {});
}
