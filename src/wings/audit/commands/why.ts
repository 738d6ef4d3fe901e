/** `svc why`: explains why a request is refused, or why its response is empty. Writes are not
 * executed. @module */
import { callerIdentity } from "../../../state/auth/authenticate.ts";
import { guardOfCases, withCaseState } from "../policy_test/case_handler.ts";
import { type CaseRequest, parseRequest } from "../policy_test/case_file.ts";
import { explainRequest } from "../why/explain_request.ts";
import { callerFlags, callerOf } from "../../../api/caller_flags.ts";
import {
  type Command,
  type CommandCall,
  type CommandContext,
  flagsOf,
} from "../../../api/command.ts";
import { print } from "../../../base/observe/output.ts";
import { readCases, readInclude } from "../policy_test/read_cases.ts";

export const whyCommand: Command = {
  name: "why",
  doc: "Explain why a request is refused or finds no rows, with SQL that permits it",
  example: "why --role=web_user 'GET /orders?id=eq.1' svc.conf",
  page: "docs/how-to/find-out-why.md",
  flags: [...callerFlags, ...flagsOf({ "--token=JWT": "Token of the request" })],
  operands: {
    pattern: /^[A-Z]+ \/|\.cases:\d+$/,
    placeholder: "REQUEST | FILE.cases:LINE",
    doc: "'GET /items?id=eq.1', with body and header lines; or a line of a policy test",
  },
  failureCode: 2,
  run: why,
};

/** Adds an empty body to a write that lacks a body. Its statement would not show the needed privileges. */
function withBody(request: CaseRequest): CaseRequest {
  const { method, target, body } = request;
  const needsBody = /^(?:POST|PATCH|PUT)$/.test(method) && !target.startsWith("/rpc/");
  return body === null && needsBody ? { ...request, body: "{}" } : request;
}

async function why(
  { config, flags, operands: [operand, extra] }: CommandCall,
  { withTransport }: CommandContext,
): Promise<number> {
  if (operand === undefined || extra !== undefined) {
    throw new Error("expected one request, such as 'GET /items'");
  }
  const token = flags.get("--token");
  if (token !== undefined && flags.has("--role")) throw new Error("--token excludes --role");
  const [, path, line] = /^(?![A-Z]+ \/)(.*\.cases):(\d+)$/.exec(operand) ?? [];
  const cases = path === undefined ? null : readCases(path);
  const testCase = cases?.file.cases.find((each) => each.line === Number(line));
  if (cases !== null && testCase === undefined) throw new Error(`${operand}: no case`);
  const { headers, ...request } = withBody(testCase ?? parseRequest(operand));
  const authorization = token === undefined ? [] : [["Authorization", `Bearer ${token}`] as const];
  const script = { name: path ?? "the request", text: cases?.file.fixtures ?? "" };
  return await withTransport(
    config,
    (setup) =>
      withCaseState({ ...setup, readInclude }, script, async (parts) => {
        const { config } = parts.appState.snapshot;
        const identity = cases === null
          ? callerOf(flags, config)
          : testCase!.caller && callerIdentity(testCase!.caller, config);
        const sent = { ...request, headers: [...headers, ...authorization] };
        const lines = await explainRequest(
          { ...parts, hiddenRows: "all", openGuard: guardOfCases(setup.wings) },
          sent,
          identity,
        );
        print(lines.map((each) => `${each}\n`).join(""));
        return 0;
      }),
  );
}
