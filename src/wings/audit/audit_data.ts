/** Data of the console about privileges, policies and findings. @module */
import { type AdminData, AdminDataError, type AdminDataOptions } from "../../api/wing.ts";
import { errorFacts } from "../../base/errors/error_response.ts";
import type { Service } from "../../state/app_state/service.ts";
import { maxListed } from "./access/cell_text.ts";
import { readAccess } from "./access/cells.ts";
import { diagnoseRunning } from "./diagnosis/diagnose.ts";
import { cautionOf, type Finding } from "./diagnosis/finding.ts";
import { explainRequest } from "./why/explain_request.ts";

/** Data of `/console/findings`. */
type ConsoleFindings = readonly (Finding & { readonly caution: string | null })[];

/** Returns the data by path. */
export function auditData(service: Service, options: AdminDataOptions): AdminData {
  return new Map<string, (request: Request) => unknown>([
    ["/console/findings", cachedFindings(service, options)],
    ["/console/access", (request) => access(service, new URL(request.url).searchParams)],
    ["/console/why", (request) => explain(service, request)],
  ]);
}

/** Milliseconds for which findings are sent again without another diagnosis. */
const findingsAgeMs = 5000;

/** Returns the function that reads the findings, at most once at a time. */
function cachedFindings(
  service: Service,
  options: AdminDataOptions,
): () => Promise<ConsoleFindings> {
  let last: { readonly at: number; readonly findings: Promise<ConsoleFindings> } | null = null;
  return function read() {
    if (last !== null && service.now() - last.at < findingsAgeMs) return last.findings;
    const findings = findingsOfService(service, options).then((found) =>
      found.map((finding) => ({ ...finding, caution: cautionOf(finding) }))
    );
    last = { at: service.now(), findings };
    findings.catch(() => last = null);
    return findings;
  };
}

/** Findings about the login role as anonymous role, which quick mode reports at its start. */
const loginFindings: ReadonlySet<string> = new Set([
  "role-superuser",
  "role-bypassrls",
  "role-owns",
  "login-superuser",
]);

/** Diagnoses the database of a service that runs. */
export async function findingsOfService(
  { database, snapshot: { config } }: Pick<Service, "database" | "snapshot">,
  { program, isLoginRole }: AdminDataOptions,
): Promise<readonly Finding[]> {
  const findings = await diagnoseRunning(database, { config, program });
  return isLoginRole ? findings.filter(({ name }) => !loginFindings.has(name)) : findings;
}

/** Resolves with the access of roles to an exposed schema. */
function access(
  { database, snapshot: { config } }: Pick<Service, "database" | "snapshot">,
  query: URLSearchParams,
) {
  const name = query.get("schema");
  const schemas = config.dbSchemas.filter((each) => each === name);
  return readAccess(database, { config: { ...config, dbSchemas: schemas }, limit: maxListed });
}

/** Greatest body of a request to explain. */
const maxExplainedBytes = 1_000_000;

/** Resolves with the explanation of a request: a list of lines. */
async function explain(service: Service, request: Request): Promise<readonly string[]> {
  const length = Number(request.headers.get("content-length") ?? Infinity);
  if (request.method !== "POST" || length > maxExplainedBytes) {
    await request.body?.cancel();
    throw new AdminDataError(400, "Send a request of at most 1 MB");
  }
  try {
    // Without admin-sign-in, the console shows no rows beyond those of the API.
    const hiddenRows = service.snapshot.config.adminSignIn ? "all" : "none";
    const parts = { service, database: service.database, hiddenRows } as const;
    return await explainRequest(parts, await request.json(), null);
  } catch (error) {
    throw new AdminDataError(400, errorFacts(error, service.dialect).message);
  }
}
