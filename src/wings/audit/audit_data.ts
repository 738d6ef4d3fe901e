/** Console data about privileges, policies and findings. @module */
import { type AdminData, AdminDataError, type AdminDataOptions } from "../../api/wing.ts";
import { errorMembers } from "../../base/errors/error_response.ts";
import type { AppState } from "../../state/app_state/app_state.ts";
import { maxListed } from "./access/cell_text.ts";
import { readAccess } from "./access/cells.ts";
import { diagnoseRunning } from "./diagnosis/diagnose.ts";
import { cautionOf, type Finding } from "./diagnosis/finding.ts";
import { explainRequest } from "./why/explain_request.ts";

/** Data of `/console/findings`. */
type ConsoleFindings = readonly (Finding & { readonly caution: string | null })[];

/** Returns the data by path. */
export function auditData(appState: AppState, options: AdminDataOptions): AdminData {
  return new Map<string, (request: Request) => unknown>([
    ["/console/findings", cachedFindings(appState, options)],
    ["/console/access", (request) => access(appState, new URL(request.url).searchParams)],
    ["/console/why", (request) => explain(appState, request)],
  ]);
}

/** Milliseconds for which findings are reused before the next diagnosis. */
const findingsAgeMs = 5000;

/** Returns the function that reads the findings, and reuses them for {@linkcode findingsAgeMs}. */
function cachedFindings(
  appState: AppState,
  options: AdminDataOptions,
): () => Promise<ConsoleFindings> {
  let last: { readonly at: number; readonly findings: Promise<ConsoleFindings> } | null = null;
  return function read() {
    if (last !== null && appState.now() - last.at < findingsAgeMs) return last.findings;
    const findings = findingsOfState(appState, options).then((list) =>
      list.map((finding) => ({ ...finding, caution: cautionOf(finding) }))
    );
    last = { at: appState.now(), findings };
    findings.catch(() => last = null);
    return findings;
  };
}

/** Findings that are left out if the anonymous role is the login role: quick mode reports them at its start. */
const loginFindings: ReadonlySet<string> = new Set([
  "role-superuser",
  "role-bypassrls",
  "role-owns",
  "login-superuser",
]);

/** Diagnoses the database of a running service. */
export async function findingsOfState(
  { database, snapshot: { config } }: Pick<AppState, "database" | "snapshot">,
  { program, isLoginRole }: AdminDataOptions,
): Promise<readonly Finding[]> {
  const findings = await diagnoseRunning(database, { config, program });
  return isLoginRole ? findings.filter(({ name }) => !loginFindings.has(name)) : findings;
}

/** Resolves with the access of roles to a schema. */
function access(
  { database, snapshot: { config } }: Pick<AppState, "database" | "snapshot">,
  query: URLSearchParams,
) {
  const name = query.get("schema");
  const schemas = config.dbSchemas.filter((each) => each === name);
  return readAccess(database, { config: { ...config, dbSchemas: schemas }, limit: maxListed });
}

/** Maximum body of a request to explain. */
const maxExplainedBytes = 1_000_000;

/** Resolves with the explanation of a request: a list of lines. */
async function explain(appState: AppState, request: Request): Promise<readonly string[]> {
  const length = Number(request.headers.get("content-length") ?? Infinity);
  if (request.method !== "POST" || length > maxExplainedBytes) {
    await request.body?.cancel();
    throw new AdminDataError(400, "Send a request of at most 1 MB");
  }
  try {
    // Without admin-sign-in, the explanation shows no rows that the API hides from the caller.
    const hiddenRows = appState.snapshot.config.adminSignIn ? "all" : "none";
    const parts = { appState, database: appState.database, hiddenRows } as const;
    return await explainRequest(parts, await request.json(), null);
  } catch (error) {
    throw new AdminDataError(400, errorMembers(error, appState.dialect).message);
  }
}
