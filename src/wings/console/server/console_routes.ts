/** The paths of the console. @module */
import { type ShownOption, shownOptions } from "../../../state/config/print.ts";
import { AdminDataError, type ConsoleOptions } from "../../../api/wing.ts";
import type { HandlerState } from "../../../state/app_state/handler_state.ts";
import { type ConsoleFiles, consoleHeaders, documentHtml } from "./console_files.ts";
import { consoleSchema } from "./console_schema.ts";
import { consoleRoles, consoleToken } from "./console_sign_in.ts";
import { consoleSql } from "./console_sql.ts";
import { consoleState, type StateParts } from "./console_state.ts";
import type { Numbered, SecondFigures } from "./live_figures.ts";
import type { LogLine, RecentRequest, Recorder } from "./recorder.ts";
import type { FindRoute, GuardedRoute } from "../../../base/http/admin_route.ts";
import { errorMessage } from "../../../base/errors/error_message.ts";

/** Answer of `/console/requests`. */
export type ConsoleRequests = ReturnType<typeof requests>;

/** Response of `/console/stats`: the seconds after the requested one. */
export type ConsoleStats = readonly Numbered<SecondFigures>[];

/** Answer of `/console/log`. */
export type ConsoleLog = readonly Numbered<LogLine>[];

/** Answer of `/console/config`. */
export type ConsoleConfig = readonly ShownOption[];

/** Dependencies of the console other than the service. */
export interface ConsoleParts extends ConsoleOptions, StateParts {
  readonly readFiles: () => Promise<ConsoleFiles>;
}

type Respond = GuardedRoute["respond"];

/** Returns a function that finds the route of a path; null for unknown paths. */
export function consoleRoutes(
  appState: HandlerState,
  parts: ConsoleParts,
): FindRoute {
  const data = dataRoutes(appState, parts);
  const title = `${appState.dialect.displayName} console`;
  const page: GuardedRoute = {
    protection: "page",
    respond: () => fileResponse(parts, (files) => respond(documentHtml(files, title), html)),
  };
  const api: GuardedRoute = {
    protection: "data",
    respond: async (request, peer) =>
      !forbiddenMethods.has(request.method.toUpperCase())
        ? await parts.handleApi(apiRequest(request), { ...peer, isUnlogged: true })
        : respond("Unsupported HTTP method\n", plainText, 405),
  };
  return function routeOf(pathname) {
    if (pathname === "/") return page;
    if (pathname.startsWith(apiPrefix)) return api;
    const respond = data.get(pathname);
    if (respond !== undefined) return { protection: "data", respond };
    const name = filePattern.exec(pathname)?.[1];
    if (name === undefined) return null;
    return { protection: "page", respond: () => fileResponse(parts, (files) => file(files, name)) };
  };
}

/** Path prefix of the API. */
const apiPrefix = "/console/api/";

/** Headers that concern the page and are not sent to the API, which accepts a token in `Authorization`. */
const ownHeaders: ReadonlySet<string> = new Set([
  "admin-token",
  "console",
  "cookie",
  "origin",
  "referer",
]);

/** Methods that a `Request` cannot have (Fetch standard, "forbidden method"). The API rejects them. */
const forbiddenMethods: ReadonlySet<string> = new Set(["CONNECT", "TRACE", "TRACK"]);

/** Returns the request to the API: the same method, body and headers, with the prefix removed from the path. */
function apiRequest(request: Request): Request {
  const { url, method, signal, body } = request;
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const target = url.slice(start + apiPrefix.length - 1);
  const headers = Array.from(request.headers).filter(([name]) =>
    !ownHeaders.has(name) && !name.startsWith("sec-")
  );
  const init = { method, headers, body, signal, duplex: "half" };
  return new Request(url.slice(0, start) + target, init);
}

const filePattern = /^\/console\/([A-Za-z0-9_-]+\.(?:js|css|svg))$/;

function dataRoutes(
  appState: HandlerState,
  parts: ConsoleParts,
): ReadonlyMap<string, Respond> {
  const { recorder } = parts;
  const json = (read: (query: URLSearchParams, request: Request) => unknown): Respond => {
    return async (request) => {
      recorder.watch();
      try {
        const body = JSON.stringify(await read(new URL(request.url).searchParams, request));
        return respond(body, "application/json; charset=utf-8");
      } catch (error) {
        if (!(error instanceof AdminDataError)) throw error;
        return respond(`${error.message}\n`, plainText, error.status);
      }
    };
  };
  return new Map([
    ...Array.from(parts.data, ([path, read]) => [path, json((_, sent) => read(sent))] as const),
    ["/console/state", json((_, request) => consoleState(appState, parts, request))],
    ["/console/stats", json((query) => recorder.figures.after(numberOf(query, "after")))],
    ["/console/requests", json((query) => requests(recorder, query))],
    ["/console/log", json((query) => recorder.lines.after(numberOf(query, "after")))],
    [
      "/console/roles",
      json(() => appState.snapshot.config.adminSignIn ? consoleRoles(appState) : {}),
    ],
    ["/console/sql", json((_, request) => consoleSql(appState, request))],
    ["/console/token", (request) => signedIn(appState, request)],
    ["/console/config", json(() => shownOptions(appState.snapshot.config))],
    ["/console/schema", json(() => consoleSchema(appState.snapshot.cache))],
  ]);
}

/** Maximum body of a request for a token. */
const maxTokenRequestBytes = 10_000;

/** Responds with a token for the role and claims in the body, if the machine is trusted. */
async function signedIn(appState: HandlerState, request: Request): Promise<Response> {
  const length = Number(request.headers.get("content-length") ?? Infinity);
  const isTrusted = appState.snapshot.config.adminSignIn && request.method === "POST";
  if (!isTrusted || length > maxTokenRequestBytes) {
    await request.body?.cancel();
    return respond("Set admin-sign-in, and send a role\n", plainText, 403);
  }
  try {
    const made = await consoleToken(appState, await request.text());
    if (made === null) {
      throw new Error("Send a role that the login role may take, and set jwt-secret");
    }
    return respond(JSON.stringify(made), "application/json; charset=utf-8");
  } catch (error) {
    return respond(`${errorMessage(error)}\n`, plainText, 400);
  }
}

function requests(recorder: Recorder, query: URLSearchParams) {
  const status = query.get("status") ?? "";
  const fits = (request: Numbered<RecentRequest>) => String(request.status).startsWith(status);
  return {
    newest: recorder.requests.after(numberOf(query, "after")).filter(fits),
    slow: recorder.slowRequests.after(0).filter(fits),
  };
}

function numberOf(query: URLSearchParams, name: string): number {
  const number = Number(query.get(name) ?? 0);
  return Number.isFinite(number) ? number : 0;
}

/** Responds with a file, or with the reason why it is missing. */
async function fileResponse(
  { readFiles }: ConsoleParts,
  respondWith: (files: ConsoleFiles) => Response,
): Promise<Response> {
  return await readFiles().then(
    respondWith,
    (error) => respond(`The console cannot be built: ${errorMessage(error)}\n`, plainText, 500),
  );
}

const html = "text/html; charset=utf-8";

const mediaTypes: Readonly<Record<string, string>> = {
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

function file(files: ConsoleFiles, name: string): Response {
  const bytes = files.get(name);
  if (bytes === undefined) return respond("Not found\n", plainText, 404);
  const response = respond(bytes, mediaTypes[name.slice(name.lastIndexOf(".") + 1)]!);
  response.headers.set("Cache-Control", "public, max-age=31536000, immutable");
  return response;
}

const plainText = "text/plain; charset=utf-8";

function respond(
  body: string | Uint8Array<ArrayBuffer>,
  type: string,
  status = 200,
): Response {
  return new Response(body, {
    status,
    headers: { "Content-Type": type, "Cache-Control": "no-store", ...consoleHeaders },
  });
}
