/**
 * The paths of the console.
 *
 * @module
 */
import { shownOptions } from "../config/print.ts";
import { cautionOf, type Finding } from "../diagnosis/finding.ts";
import type { Service } from "../service/service.ts";
import type { Peer, Protection } from "./admin_access.ts";
import { apiPrefix, apiRequest, type HandleApi, isPassed } from "./console_api.ts";
import type { ConsoleFindings, ConsoleRequests } from "./console_data.ts";
import { consoleHeaders, consolePolicy, planPolicy } from "./console_headers.ts";
import { type ConsoleDocument, type ConsoleFiles, documentHtml } from "./console_page.ts";
import { consoleSchema } from "./console_schema.ts";
import { consoleState } from "./console_state.ts";
import type { RecentRequest, Recorder } from "./recorder.ts";
import type { Numbered } from "./ring.ts";

/** Dependencies of the console apart from the service. */
export interface ConsoleParts {
  readonly readFiles: () => Promise<ConsoleFiles>;
  readonly recorder: Recorder;
  readonly handleApi: HandleApi;
  /** Diagnoses the database. */
  readonly diagnose: () => Promise<readonly Finding[]>;
  /** Returns the resident memory in bytes; null where the runtime does not show it. */
  readonly memory: () => number | null;
  readonly isLive: () => boolean;
}

/** Services that the console reads. */
export type ConsoleService = Pick<
  Service,
  "database" | "dialect" | "isReady" | "now" | "snapshot"
>;

/** A path with its protection. */
export interface GuardedRoute {
  readonly protection: Protection;
  readonly respond: (request: Request, peer: Peer) => Promise<Response>;
}

type Respond = GuardedRoute["respond"];

/** Makes the function that finds the route of a path; null for paths that the console lacks. */
export function consoleRoutes(
  service: ConsoleService,
  parts: ConsoleParts,
): (pathname: string) => GuardedRoute | null {
  const data = dataRoutes(service, parts);
  const page = (document: ConsoleDocument, policy: string): GuardedRoute => ({
    protection: "page",
    respond: () =>
      fileResponse(
        parts,
        (files) => respond(documentHtml(files, document), html, { policy }),
      ),
  });
  const { displayName } = service.dialect;
  const pages = new Map([
    ["/", page({ entry: "main", title: `${displayName} console` }, consolePolicy)],
    ["/console/plan", page({ entry: "plan", title: "Plan" }, planPolicy)],
  ]);
  const api: GuardedRoute = {
    protection: "data",
    respond: async (request, peer) =>
      isPassed(request.method)
        ? await parts.handleApi(apiRequest(request), peer)
        : respond("Unsupported HTTP method\n", plainText, { status: 405 }),
  };
  return function routeOf(pathname) {
    const document = pages.get(pathname);
    if (document !== undefined) return document;
    if (pathname.startsWith(apiPrefix)) return api;
    const respond = data.get(pathname);
    if (respond !== undefined) return { protection: "data", respond };
    const name = filePattern.exec(pathname)?.[1];
    if (name === undefined) return null;
    return { protection: "page", respond: () => fileResponse(parts, (files) => file(files, name)) };
  };
}

const filePattern = /^\/console\/([A-Za-z0-9_-]+\.(?:js|css|svg))$/;

function dataRoutes(
  service: ConsoleService,
  parts: ConsoleParts,
): ReadonlyMap<string, Respond> {
  const { recorder } = parts;
  const findings = cachedFindings(parts, service.now);
  const json = (read: (query: URLSearchParams, request: Request) => unknown): Respond => {
    return async (request) => {
      const body = JSON.stringify(await read(new URL(request.url).searchParams, request));
      return respond(body, "application/json; charset=utf-8");
    };
  };
  return new Map([
    ["/console/state", json((_, request) => consoleState(service, parts, request))],
    ["/console/findings", json(findings)],
    ["/console/stats", json((query) => recorder.figures.after(numberOf(query, "after")))],
    ["/console/requests", json((query) => requests(recorder, query))],
    ["/console/log", json((query) => recorder.lines.after(numberOf(query, "after")))],
    ["/console/config", json(() => shownOptions(service.snapshot.config))],
    [
      "/console/schema",
      json(() => {
        const data = service.snapshot.cache?.data;
        return data === undefined
          ? { relations: [], relationships: [], functions: [] }
          : consoleSchema(data);
      }),
    ],
  ]);
}

/** Milliseconds for which findings are sent again without another diagnosis. */
const findingsAgeMs = 5000;

/** Returns the function that reads the findings, at most once at a time. */
function cachedFindings(
  { diagnose }: ConsoleParts,
  now: () => number,
): () => Promise<ConsoleFindings> {
  let last: { readonly at: number; readonly findings: Promise<ConsoleFindings> } | null = null;
  return function read() {
    if (last !== null && now() - last.at < findingsAgeMs) return last.findings;
    const findings = diagnose().then((found) =>
      found.map((finding) => ({ ...finding, caution: cautionOf(finding) }))
    );
    last = { at: now(), findings };
    findings.catch(() => last = null);
    return findings;
  };
}

function requests(recorder: Recorder, query: URLSearchParams): ConsoleRequests {
  const after = numberOf(query, "after");
  const minMs = numberOf(query, "min-ms");
  const status = query.get("status") ?? "";
  const fits = (request: Numbered<RecentRequest>) =>
    request.ms.total >= minMs && String(request.status).startsWith(status);
  return {
    newest: recorder.requests.after(after).filter(fits),
    slow: recorder.slowRequests.after(0).filter(fits),
  };
}

function numberOf(query: URLSearchParams, name: string): number {
  const number = Number(query.get(name) ?? 0);
  return Number.isFinite(number) ? number : 0;
}

/** Responds with a file, or with the reason why there are no files. */
async function fileResponse(
  { readFiles }: ConsoleParts,
  respondWith: (files: ConsoleFiles) => Response,
): Promise<Response> {
  let files;
  try {
    files = await readFiles();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return respond(`The console cannot be built: ${reason}\n`, plainText, { status: 500 });
  }
  return respondWith(files);
}

const html = "text/html; charset=utf-8";

const mediaTypes: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

function file(files: ConsoleFiles, name: string): Response {
  const bytes = files.get(name);
  if (bytes === undefined) return respond("Not found\n", plainText, { status: 404 });
  const response = respond(bytes, mediaTypes[name.slice(name.lastIndexOf(".") + 1)]!);
  response.headers.set("Cache-Control", "public, max-age=31536000, immutable");
  return response;
}

const plainText = "text/plain; charset=utf-8";

function respond(
  body: string | Uint8Array<ArrayBuffer>,
  type: string,
  { status = 200, policy = consolePolicy }: {
    readonly status?: number;
    readonly policy?: string;
  } = {},
): Response {
  return new Response(body, {
    status,
    headers: { "Content-Type": type, "Cache-Control": "no-store", ...consoleHeaders(policy) },
  });
}
