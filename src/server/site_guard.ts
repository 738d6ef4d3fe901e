/** The guard of quick mode against pages of other sites. @module */
import { isLoopbackHost } from "../http/host.ts";
import type { Config } from "../config/options.ts";
import type { Dialect } from "../dialect.ts";
import { errors } from "../errors/catalogue.ts";
import { errorResponseTo } from "../handler/handler.ts";
import { foreignHeader } from "../http/foreign_site.ts";
import type { ListenOptions } from "./listen.ts";

/** Refuses requests that pages of other sites make. */
export function guardSite(
  serve: ListenOptions["serve"],
  { config, dialect }: { readonly config: () => Config; readonly dialect: Dialect },
): ListenOptions["serve"] {
  return function guarded(request, info) {
    const { serverHost, serverCorsAllowedOrigins } = config();
    const header = foreignHeader(request.headers, {
      origins: serverCorsAllowedOrigins ?? [],
      checksHost: isLoopbackHost(serverHost),
    });
    if (header === null) return serve(request, info);
    return Promise.resolve(errorResponseTo(request, errors.foreignSite(header), dialect));
  };
}
