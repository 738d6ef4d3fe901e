/**
 * The admin server's page, on which people read the API's documentation and send requests. The page
 * loads its files from the admin server. It requests the OpenAPI document from the API.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import { addressOf } from "../response/openapi/about.ts";

/** Files of the package `swagger-ui-dist`. */
export type AssetName = "swagger-ui.css" | "swagger-ui-bundle.js";

/** Dependencies of the page. */
export interface ApiPageOptions {
  readonly config: () => Config;
  readonly readAsset: (name: AssetName) => Promise<Uint8Array<ArrayBuffer>>;
}

/** Returns the routes of the page by path. */
export function apiPage(
  { config, readAsset }: ApiPageOptions,
): ReadonlyMap<string, () => Promise<Response>> {
  const text = (body: string, type: string) => Promise.resolve(respond(body, type));
  const asset = (name: AssetName, type: string) =>
    readAsset(name).then(
      (bytes) => respond(bytes, type),
      () => respond("The page's files could not be downloaded.\n", plain, 502),
    );
  return new Map([
    ["/", () => text(html(config()), "text/html; charset=utf-8")],
    ["/page.js", () => text(script, javascript)],
    ["/page.css", () => text(style, css)],
    ["/swagger-ui.css", () => asset("swagger-ui.css", css)],
    ["/swagger-ui-bundle.js", () => asset("swagger-ui-bundle.js", javascript)],
  ]);
}

const plain = "text/plain; charset=utf-8";
const css = "text/css; charset=utf-8";
const javascript = "text/javascript; charset=utf-8";

/** Forbids scripts and styles from other origins, and frames of other pages. */
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; connect-src *; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'";

function respond(body: string | Uint8Array<ArrayBuffer>, type: string, status = 200): Response {
  return new Response(body, {
    status,
    headers: {
      "Content-Type": type,
      "Content-Security-Policy": policy,
      "X-Content-Type-Options": "nosniff",
      "Referrer-Policy": "no-referrer",
      "Cache-Control": "no-cache",
    },
  });
}

/** Settings of the page's script. */
interface PageSettings {
  /** Base URL of the API; null for the page's host with `port`. */
  readonly url: string | null;
  readonly port: number;
  readonly schemas: readonly string[];
}

function html(config: Config): string {
  const { dialect: { displayName }, openapiServerProxyUri, serverPort, dbSchemas } = config;
  const { scheme, host, basePath } = addressOf(config);
  const settings: PageSettings = {
    url: openapiServerProxyUri === null ? null : `${scheme}://${host}${basePath}`,
    port: serverPort,
    schemas: dbSchemas,
  };
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${displayName} API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="swagger-ui.css">
<link rel="stylesheet" href="page.css">
<script type="application/json" id="settings">${inScript(settings)}</script>
<script src="swagger-ui-bundle.js" defer></script>
<script src="page.js" defer></script>
</head>
<body>
<form id="form">
<label>API <input id="url" type="url" required size="32"></label>
<label id="schemaLabel">Schema <select id="schema"></select></label>
<label>Token <input id="token" type="password" size="32" autocomplete="off"></label>
<button>Load</button>
<output id="status" role="status"></output>
</form>
<main id="api"></main>
</body>
</html>
`;
}

/** Returns JSON that cannot end its `script` element. */
function inScript(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

const style = `form { display: flex; flex-wrap: wrap; gap: 1em; padding: 1em; font: 14px sans-serif;
  align-items: center; border-bottom: 1px solid #ccc; }
output { color: #b00; }
`;

/** Sends the token only to the API, and does not store it. */
const script = `"use strict";
const settings = JSON.parse(document.getElementById("settings").textContent);
const [form, url, schema, token, status] = ["form", "url", "schema", "token", "status"]
  .map((id) => document.getElementById(id));
url.value = settings.url ?? location.protocol + "//" + location.hostname + ":" + settings.port;
for (const name of settings.schemas) schema.add(new Option(name));
document.getElementById("schemaLabel").hidden = settings.schemas.length < 2;

function base() {
  return url.value.replace(/\\/+$/, "");
}

function authorize(headers) {
  const bare = token.value.trim().replace(/^Bearer\\s+/i, "");
  return bare === "" ? headers : { ...headers, Authorization: "Bearer " + bare };
}

async function describe() {
  const headers = { Accept: "application/openapi+json;version=3.1" };
  if (settings.schemas.length > 1) headers["Accept-Profile"] = schema.value;
  const response = await fetch(base() + "/", { headers: authorize(headers) });
  const body = await response.json();
  if (!response.ok) throw new Error(response.status + ": " + body.message);
  return { ...body, servers: [{ url: base() }] };
}

async function load() {
  status.value = "Loading…";
  try {
    const spec = await describe();
    SwaggerUIBundle({
      spec,
      domNode: document.getElementById("api"),
      docExpansion: Object.keys(spec.paths).length > 100 ? "none" : "list",
      defaultModelsExpandDepth: 0,
      filter: true,
      tryItOutEnabled: true,
      validatorUrl: null,
      requestInterceptor(request) {
        if (!request.url.startsWith(base() + "/")) return request;
        return { ...request, headers: authorize(request.headers) };
      },
    });
    status.value = "";
  } catch (error) {
    status.value = error instanceof TypeError
      ? "The API cannot be reached, or does not allow this page's origin."
      : error.message;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  load();
});
load();
`;
