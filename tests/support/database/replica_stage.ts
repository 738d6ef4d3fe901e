/** A primary with two standbys, and handlers that read from them. @module */
import { createHandler, type Handler, type HandlerOptions } from "../../../mod.ts";
import { eventually } from "../timing/eventually.ts";
import { authenticator, fixtureSql } from "./fixture.ts";
import { PostgresCluster } from "./postgres_cluster.ts";
import type { PostgresServer } from "./postgres_server.ts";
import { buffered, buildRequest, type RequestParts } from "../handler/request.ts";
import { testSecret } from "../handler/token.ts";

/** Parts of a request in addition to its line. */
export interface ReplicaRequest extends RequestParts {
  /** Value of `Svc-Bookmark`. */
  readonly bookmark?: string | null;
}

/** Sends a request to a handler and reads the answer to its end. */
export type ReplicaApi = (line: string, parts?: ReplicaRequest) => Promise<Response>;

/** Configuration of a handler in addition to the stage's. */
export type ReplicaConfig = Partial<Omit<HandlerOptions, "dbUri">>;

/** A handler, and what sends requests to it. */
interface OpenedHandler {
  readonly api: ReplicaApi;
  readonly handler: Handler;
}

/** The servers and the handlers of a test. */
export class ReplicaStage implements AsyncDisposable {
  readonly #handlers: Handler[] = [];

  private constructor(readonly cluster: PostgresCluster) {}

  /** Starts the servers with the fixture `standbys`. */
  static async start(): Promise<ReplicaStage> {
    const sql = await fixtureSql({ name: "standbys", roles: ["anon", "repeater", "hurried"] });
    return new ReplicaStage(
      await PostgresCluster.start({
        standbys: 2,
        sql,
        // What commits without waiting for its WAL reaches standbys as late as this.
        settings: { wal_writer_delay: "10ms" },
      }),
    );
  }

  /** Opens a handler; resolves when standbys execute its reads. */
  async open(config: ReplicaConfig = {}): Promise<ReplicaApi> {
    const { api } = this.openWithReplicas(config);
    await this.readsFromStandbys(api);
    return api;
  }

  /** Opens a handler that finds the standbys among all hosts. */
  openWithReplicas(config: ReplicaConfig = {}): OpenedHandler {
    return this.openWithout({ dbReplicaUri: this.#allHosts(), ...config });
  }

  /** Opens a handler without standbys. */
  openWithout(config: ReplicaConfig = {}): OpenedHandler {
    const handler = createHandler({
      dbUri: `${this.#allHosts()}?target_session_attrs=read-write`,
      dbSchemas: ["api"],
      dbAnonRole: "anon",
      jwtSecret: testSecret,
      dbTxEnd: "commit-allow-override",
      dbCommentTags: true,
      serverQueryMethod: true,
      ...config,
    });
    this.#handlers.push(handler);
    const origin = "http://localhost:3000";
    const api: ReplicaApi = async (line, { bookmark, headers, ...parts } = {}) => {
      const marked = bookmark ? { ...headers, "Svc-Bookmark": bookmark } : headers;
      const request = await buildRequest({ line, origin }, { ...parts, headers: marked ?? {} });
      return await buffered(await handler(request));
    };
    return { api, handler };
  }

  /** Resolves when the primary executes no reads that a standby may. */
  async readsFromStandbys(api: ReplicaApi): Promise<void> {
    await this.readsFrom(api, new Set(this.cluster.standbys.map(({ port }) => port)));
  }

  /** Resolves when reads without a bookmark come from no other ports than these. */
  async readsFrom(api: ReplicaApi, ports: ReadonlySet<number>): Promise<void> {
    await eventually(`reads from ${[...ports]}`, async () => {
      const answers = await Promise.all(Array.from({ length: readsPerCheck }, () => api(place)));
      if (answers.some(({ status }) => status !== 200)) return false;
      return (await Promise.all(answers.map(portOf))).every((port) => ports.has(port));
    });
  }

  /** Returns whether a port belongs to a standby. */
  isStandby(port: number): boolean {
    return this.cluster.standbys.some((standby) => standby.port === port);
  }

  /** Pauses both standbys while `work` runs, and waits until they have caught up. */
  async whilePaused<Result>(
    work: () => Promise<Result>,
    standbys: readonly PostgresServer[] = this.cluster.standbys,
  ): Promise<Result> {
    for (const standby of standbys) await this.cluster.pauseReplay(standby);
    try {
      return await work();
    } finally {
      for (const standby of standbys) await this.cluster.resumeReplay(standby);
      await this.cluster.replayed(standbys);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#handlers.map((handler) => handler.close()));
    await this.cluster[Symbol.asyncDispose]();
  }

  #allHosts(): string {
    const login = { user: authenticator, password: authenticator };
    return this.cluster.uri([this.cluster.primary, ...this.cluster.standbys], login);
  }
}

/** Reads at the same time: enough for each fit server to get some of them. */
const readsPerCheck = 12;

/** Asks which server executes a read. */
export const place = "GET /place";

/** Returns the port in the first row of an answer, or its value. Throws an `Error` for other answers. */
export async function portOf(response: Response): Promise<number> {
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${response.status} ${text}`);
  const body = JSON.parse(text);
  return typeof body === "number" ? body : body[0].port;
}

/** Returns the bookmark of an answer. Throws an `Error` if there is none. */
export function bookmarkOf(response: Response): string {
  const bookmark = response.headers.get("Svc-Bookmark");
  if (bookmark === null) throw new Error(`${response.status} without a bookmark`);
  return bookmark;
}
