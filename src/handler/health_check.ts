/** The health path on the API port, for load balancers that cannot reach the admin server. @module
 */
import type { HeaderList } from "../lib/header_list.ts";
import type { Config } from "../config/options.ts";
import { emptyReply } from "./headers.ts";
import type { Reply } from "../response/reply.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { RequestService } from "../service/request_service.ts";
import type { ServiceOptions } from "../service/service_options.ts";

const uncached: HeaderList = [["Cache-Control", "no-store"]];

/** Answers requests for `server-health-path`, and for `/live` below it. */
export class HealthCheck {
  readonly #service: Pick<RequestService, "isReady">;
  readonly #path: string | null;
  readonly #loading: ServiceOptions["loading"];
  #running: Promise<boolean> | null = null;

  /** The path is that of the start: the option is not reloadable. */
  constructor(
    service: Pick<RequestService, "isReady">,
    { serverHealthPath }: Pick<Config, "serverHealthPath">,
    loading: ServiceOptions["loading"],
  ) {
    this.#service = service;
    this.#path = serverHealthPath;
    this.#loading = loading;
  }

  /** Returns whether a raw path is one of the health paths. */
  matches(path: string): boolean {
    const own = this.#path;
    if (own === null || !path.startsWith(own)) return false;
    return path.length === own.length || path.slice(own.length) === live;
  }

  /** Returns 200 or 503. The path must match. */
  async check({ method, path }: Pick<RawRequest, "method" | "path">): Promise<Reply> {
    if (method !== "GET" && method !== "HEAD") {
      return emptyReply(405, [["Allow", "GET, HEAD"], ...uncached]);
    }
    const isHealthy = path !== this.#path || await this.#isReady();
    return emptyReply(isHealthy ? 200 : 503, uncached);
  }

  /**
   * Requests that arrive while a check runs share its result, because a check may query the database
   * and any client may request it. Where work ends with its request, each runs its own.
   */
  async #isReady(): Promise<boolean> {
    if (this.#loading === "unshared") return await this.#service.isReady();
    this.#running ??= this.#service.isReady().finally(() => this.#running = null);
    return await this.#running;
  }
}

const live = "/live";
