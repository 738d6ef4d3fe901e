/**
 * The admin server: whether the service lives and is ready.
 *
 * @module
 */
import type { Service } from "./service.ts";
import { version } from "./version.ts";

/** Makes the admin server's handler. `isLive` says whether the API is served. */
export function adminHandler(
  service: Pick<Service, "isReady" | "dialect">,
  isLive: () => boolean,
): (request: Request) => Promise<Response> {
  const headers = { "Server": `${service.dialect.productToken}/${version}` };
  const empty = (status: number) => new Response(null, { status, headers });
  const routes: ReadonlyMap<string, () => Promise<boolean>> = new Map([
    ["/live", () => Promise.resolve(isLive())],
    ["/ready", async () => isLive() && await service.isReady()],
  ]);
  return async function handleAdmin(request) {
    const check = routes.get(new URL(request.url).pathname);
    if (check === undefined) return empty(404);
    return empty(await check() ? 200 : 503);
  };
}
