/**
 * The admin server: whether the service lives and is ready, its figures, and a page about the API.
 *
 * @module
 */
import { apiPage } from "./api_page.ts";
import { shownConfig } from "./config/print.ts";
import { badHost, isHostHeader } from "./http/host.ts";
import { prometheusText } from "./observe/metrics.ts";
import type { ReadAsset } from "./page_assets.ts";
import { dumpSchemaCache } from "./schema_cache/dump.ts";
import type { Service } from "./service.ts";
import { version } from "./version.ts";

/** What the admin server is told beside the service. */
export interface AdminOptions {
  /** Whether the API is served. */
  readonly isLive: () => boolean;
  readonly readAsset: ReadAsset;
}

/** Makes the admin server's handler. */
export function adminHandler(
  service: Pick<Service, "isReady" | "dialect" | "figures" | "snapshot">,
  { isLive, readAsset }: AdminOptions,
): (request: Request) => Promise<Response> {
  const headers = { "Server": `${service.dialect.productToken}/${version}` };
  const empty = (status: number) => new Response(null, { status, headers });
  const serving = () => isLive() ? 200 : service.dialect.notServingStatus;
  const routes: ReadonlyMap<string, () => Promise<number>> = new Map([
    ["/live", () => Promise.resolve(serving())],
    ["/ready", async () => await service.isReady() ? serving() : 503],
  ]);
  const config = () => shownConfig(service.snapshot.config);
  const texts: ReadonlyMap<string, { readonly type: string; readonly body: () => string }> =
    new Map([
      ...(service.dialect.configPage === "shown"
        ? [["/config", { type: "text/plain; charset=utf-8", body: config }] as const]
        : []),
      ["/metrics", {
        type: "text/plain; charset=utf-8",
        body: () => prometheusText(service.figures(), service.dialect.settingPrefix),
      }],
      ["/schema_cache", {
        type: "application/json; charset=utf-8",
        body: () => {
          const { cache } = service.snapshot;
          return cache === null ? "" : dumpSchemaCache(cache.data);
        },
      }],
    ]);
  const page = apiPage({ config: () => service.snapshot.config, readAsset });
  return async function handleAdmin(request) {
    if (!isHostHeader(request.headers.get("host"))) return badHost(headers);
    const { pathname } = new URL(request.url);
    const shown = await page(pathname);
    if (shown !== undefined) {
      for (const [name, value] of Object.entries(headers)) shown.headers.set(name, value);
      return shown;
    }
    const text = texts.get(pathname);
    if (text !== undefined) {
      return new Response(text.body(), { headers: { ...headers, "Content-Type": text.type } });
    }
    const check = routes.get(pathname);
    if (check === undefined) return empty(404);
    return empty(await check());
  };
}
