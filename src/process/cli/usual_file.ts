/** The configuration file of calls that do not name one. @module */
import { environmentName } from "../../state/config/names.ts";
import { pgrstDialect } from "../../base/dialect.ts";
import type { ConfigArguments } from "../../state/config/config_files.ts";
import type { ParsedCall } from "./arguments.ts";

/** Name of the file that `svc init` writes. */
export const usualFile = "svc.conf";

interface UsualFileContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly isFile: (path: string) => boolean;
}

/** Returns the call with `svc.conf` of the working directory. The file must exist, and neither
 * arguments nor the environment may name a file or a database. */
export function withUsualFile(call: ParsedCall, context: UsualFileContext): ParsedCall {
  if (call.kind === "command") {
    const { command, call: { config } } = call;
    if (command.readsUsualFile === false || !lacksSource(config, context)) return call;
    return { ...call, call: { ...call.call, config: { ...config, file: usualFile } } };
  }
  if (!("config" in call) || !lacksSource(call.config, context)) return call;
  return { ...call, config: { ...call.config, file: usualFile } };
}

function lacksSource(
  { file, flags }: ConfigArguments,
  { environment, isFile }: UsualFileContext,
): boolean {
  const uri = flags.get("db-uri")?.value || environment[environmentName("db-uri")] ||
    environment["DATABASE_URL"];
  const dialect = flags.get("dialect")?.value ?? environment[environmentName("dialect")];
  return file === null && !uri && dialect !== pgrstDialect.name && isFile(usualFile);
}
