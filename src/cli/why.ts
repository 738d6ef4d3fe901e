/** `svc why`: explains why a request is refused, or its answer empty. Writes are not executed. @module */
import { callerIdentity } from "../auth/caller_identity.ts";
import { withCaseService } from "../policy_test/case_handler.ts";
import { type CaseRequest, parseRequest } from "../policy_test/case_file.ts";
import { explainRequest } from "../why/explain_request.ts";
import { callerFlags, callerOf } from "./caller_flags.ts";
import type { Command, CommandCall } from "./command.ts";
import { print } from "./output.ts";
import { readCases, withTransport } from "./with_transport.ts";

/** The command. */
export const whyCommand: Command = {
  name: "why",
  doc: "Explain why a request is refused or finds no rows, with SQL that permits it",
  flags: [
    ...callerFlags,
    { name: "--token", value: "required", placeholder: "JWT", doc: "Token of the request" },
  ],
  operands: {
    pattern: /^[A-Z]+ \/|\.cases:\d+$/,
    placeholder: "REQUEST | FILE.cases:LINE",
    doc: "'GET /items?id=eq.1', with body and header lines; or a line of a policy test",
  },
  failureCode: 2,
  run: why,
};

async function why({ config, flags, operands: [operand, extra] }: CommandCall): Promise<number> {
  if (operand === undefined || extra !== undefined) {
    throw new Error("expected one request, such as 'GET /items'");
  }
  const token = flags.get("--token");
  if (token !== undefined && flags.has("--role")) throw new Error("--token excludes --role");
  const { name, file, line } = subjectOf(operand, token);
  const script = { name, text: file?.fixtures ?? "" };
  return await withTransport(config, (setup) =>
    withCaseService(setup, script, async (parts) => {
      const { config } = parts.service.snapshot;
      const identity = file === null
        ? callerOf(flags, config)
        : line.caller && callerIdentity(line.caller, config);
      const lines = await explainRequest({ ...parts, hiddenRows: "all" }, line, identity);
      print(lines.map((each) => `${each}\n`).join(""));
      return 0;
    }));
}

/** Returns the request that an operand names, with the file of a case. */
function subjectOf(operand: string, token: string | undefined) {
  const [, path, number] = /^(.*\.cases):(\d+)$/.exec(operand) ?? [];
  if (path === undefined || /^[A-Z]+ \//.test(operand)) {
    const request: CaseRequest = parseRequest(operand);
    const own = token === undefined ? [] : [["Authorization", `Bearer ${token}`] as const];
    const line = { ...request, headers: [...request.headers, ...own], caller: null };
    return { name: "the request", file: null, line };
  }
  const { file } = readCases(path);
  const line = file.cases.find((each) => each.line === Number(number));
  if (line === undefined) throw new Error(`${operand}: no case`);
  return { name: path, file, line };
}
