/** PostgreSQL over a socket, which `npm:pg` opens, encrypts and authenticates. @module */
import { version } from "../../version.ts";
import { clients } from "../connect/pg_client.ts";
import { type Batch, metadataBatch, type Statement } from "../batch.ts";
import { connectionSetup, type Database, type DatabaseOptions } from "../database.ts";
import { connectToFirst } from "../connect/hosts.ts";
import { duplicateStatement } from "../protocol/server_error.ts";
import { type PoolerFinding, probePooler, statementsLost } from "../connect/pooler_probe.ts";
import { statementNamePrefix } from "../failure.ts";
import { Pool, type PoolConfiguration } from "../pool/pool.ts";
import { socketsOfRuntime } from "../connect/reading_socket.ts";
import { isPooled, notify, subscribe } from "../notifications/subscribe.ts";
import type { ConnectionEnvironment } from "../connect/connection_parameters.ts";
import { isConnectionUri } from "../connect/connection_string.ts";
import {
  type ConnectionSources,
  connectionTargets,
  type Settings,
  type Targets,
} from "../connect/targets.ts";
import { systemClock } from "../../lib/clock.ts";
import { errorCode } from "../../lib/error_code.ts";
import { schedule } from "../../lib/timers.ts";
import { BodySpool } from "../../lib/body_spool.ts";
import { SpoolSpace, temporaryFiles } from "../../lib/spool_file.ts";
import type { Transport } from "../transport.ts";
import { UnpooledDatabase } from "./per_request.ts";
import { SocketTransport } from "./socket_transport.ts";

/** Whether connections stay open in a pool, or each request opens and closes its own. */
export type Connections = "pooled" | "per-request";

export interface PostgresOptions {
  readonly uri: string;
  /** Connection string of the connection that listens; null for `uri`. */
  readonly channelUri: string | null;
  /** File whose password replaces those of connection strings; null for none. */
  readonly passwordFile: string | null;
  readonly applicationName: string;
  /** Whether the application name is also set where the connection string has keywords, not a URI. */
  readonly namesKeywords: boolean;
  readonly poolSize: number;
  readonly acquisitionTimeoutSeconds: number;
  readonly maxIdleTimeSeconds: number;
  readonly maxLifetimeSeconds: number;
  readonly prepare: DatabaseOptions["prepare"];
  /** Whether readers of bodies keep no chunk of them. */
  readonly freesChunks: boolean;
  readonly connections: Connections;
  /** Bytes of all temporary files for slow readers of bodies; 0 turns files off. */
  readonly spoolBytes: number;
}

/** Most prepared statements of a connection. */
const preparedLimit = 500;

export function openPostgres(options: PostgresOptions): Database {
  const targets = targetsOf(options);
  if (options.connections === "per-request") return new UnpooledDatabase(() => connect(targets));
  return openPool(targets, options, openSpool(options));
}

export function openSpool({ spoolBytes }: Pick<PostgresOptions, "spoolBytes">): BodySpool {
  return new BodySpool({
    space: new SpoolSpace(),
    maxFileBytes: spoolBytes,
    openFile: temporaryFiles(),
  });
}

export function openPool(targets: Targets, options: PostgresOptions, spool: BodySpool): Database {
  let onPooler = () => {};
  let isEncrypted: boolean | null = null;
  const acquisitionTimeoutMs = options.acquisitionTimeoutSeconds * 1000;
  const preparation = new StatementPreparation({ prepare: options.prepare, queueTargetMs: 0 }, {
    probe: () => probePooler({ targets, timeoutMs: acquisitionTimeoutMs, schedule }),
    apply: (configuration) => pool.configure(configuration),
    onPooler: () => onPooler(),
  });
  const pooler = poolerCheck(targets, () => preparation.poolerFound());
  const pool = new Pool({
    max: Math.max(1, options.poolSize),
    acquisitionTimeoutMs,
    maxIdleTimeMs: options.maxIdleTimeSeconds * 1000,
    maxLifetimeMs: options.maxLifetimeSeconds * 1000,
    prepare: preparation.current.prepare,
    preparedLimit,
    setup: connectionSetup,
    freesChunks: options.freesChunks,
    spool,
    clock: systemClock,
    connect: async () => {
      const transport = await connect(targets);
      isEncrypted = transport.isEncrypted;
      return transport;
    },
    statementPrefix,
    onStatementForgotten: (sqlstate) => {
      // Names are random: another connection has prepared this one on the same server connection.
      if (sqlstate === duplicateStatement) preparation.poolerFound();
      else pooler.check();
    },
  });
  return {
    ...pooledDatabase(pool, preparation),
    ...notificationsOf(targets, options, pool),
    isEncrypted: () => isEncrypted,
    bodySpool: spool,
    watch: (watcher) => {
      onPooler = watcher.onPooler;
      pool.watch(watcher);
    },
    close: () => pool.close().then(() => pooler.ended()),
  };
}

function pooledDatabase(pool: Pool, preparation: StatementPreparation) {
  return {
    transaction: (...[batch, caller]: Parameters<Pool["transaction"]>) => {
      // In other threads, no load begins with the version.
      if (preparation.isUndecided) void preparation.settle();
      return pool.transaction(batch, caller);
    },
    version: async () => {
      await preparation.settle();
      return await pool.version();
    },
    flush: () => pool.flush(),
    counts: () => pool.counts(),
    ask: () => pool.ask(),
    suspect: () => pool.suspect(),
    queueSeconds: pool.queueSeconds,
    configure: (changed) => preparation.configure(changed),
  } satisfies Partial<Database>;
}

function notificationsOf(targets: Targets, options: PostgresOptions, pool: Pool) {
  const { channelUri } = options;
  const channelTargets = channelUri === null ? targets : targetsOf({ ...options, uri: channelUri });
  return {
    subscribe: (channel, events) => subscribe(channelTargets, channel, events),
    notify: (channel, payload) =>
      options.poolSize > 1
        ? pool.transaction(notifyBatch(channel, payload)).then(() => {})
        : notify(targets, channel, payload),
  } satisfies Partial<Database>;
}

/** Opens one connection. Rejects with an `Error` of one line if that fails. */
export function connectPostgres(options: PostgresOptions): Promise<Transport> {
  return connect(targetsOf(options));
}

/** Sends a notification. Leaves no lines of the pool in the log. */
function notifyBatch(channel: string, payload: string): Batch {
  const text = "select pg_catalog.pg_notify($1, $2)";
  const statement: Statement = { text, params: [channel, payload], use: "none" };
  return { ...metadataBatch([statement]), isTraced: false };
}

/** Random: behind a pooler, a connection would else execute what another one prepared. */
function statementPrefix(): string {
  const random = crypto.getRandomValues(new Uint32Array(1))[0]!;
  return `${statementNamePrefix}${random.toString(36)}_`;
}

interface PoolerCheck {
  /** Checks once, in the background, for a pooler. */
  check(): void;
  /** Resolves when no check is running. */
  ended(): Promise<void>;
}

/** Either a function has deallocated the statement, or a pooler has switched connections. */
function poolerCheck(targets: Targets, onPooler: () => void): PoolerCheck {
  let checking: Promise<void> | null = null;
  return {
    check() {
      checking ??= isPooled(targets).then(
        (pooled) => void (pooled && onPooler()),
        () => void (checking = null),
      );
    },
    async ended() {
      await checking;
    },
  };
}

type TargetOptions = Pick<
  PostgresOptions,
  "uri" | "passwordFile" | "applicationName" | "namesKeywords" | "acquisitionTimeoutSeconds"
>;

/** Parses the connection string, and adds to each server the settings that all connections share. */
export function targetsOf(options: TargetOptions): Targets {
  const isNamed = isConnectionUri(options.uri) || options.namesKeywords;
  const sources = runtimeSources();
  const { servers, ...others } = connectionTargets(options.uri, sources);
  const { passwordFile } = options;
  const sockets = socketsOfRuntime();
  const common = {
    ...(sockets === null ? {} : {
      stream: ({ ssl }: { readonly ssl?: unknown }) => ssl ? sockets.plain() : sockets.reading(),
    }),
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    connectionTimeoutMillis: options.acquisitionTimeoutSeconds * 1000,
  };
  const name = isNamed
    ? { fallback_application_name: `${options.applicationName} ${version}` }
    : {};
  const complete = (settings: Settings) => ({
    ...common,
    ...settings,
    ...(passwordFile === null ? {} : { password: passwordReader(passwordFile, sources) }),
    ...name,
    enableChannelBinding: settings["channel_binding"] !== "disable",
  });
  return { ...others, servers: servers.map(complete) };
}

/** Returns the function that reads the password for a new connection. Line breaks may end the file. */
function passwordReader(path: string, { readFile }: ConnectionSources): () => string {
  return () => {
    try {
      if (readFile !== undefined) return readFile(path).replace(/[\r\n]+$/, "");
    } catch (error) {
      throw new Error(`could not read db-password-file: ${errorCode(error)}`);
    }
    throw new Error("db-password-file needs a runtime with files");
  };
}

export function serverTargets(uri: string, applicationName: string): Targets {
  return targetsOf({
    uri,
    passwordFile: null,
    applicationName,
    namesKeywords: true,
    acquisitionTimeoutSeconds: 10,
  });
}

/** Returns the environment and the file reader, where the runtime has them. */
function runtimeSources(): ConnectionSources {
  const { process } = globalThis as {
    process?: { env?: ConnectionEnvironment; getBuiltinModule?(name: string): unknown };
  };
  const fs = process?.getBuiltinModule?.("node:fs") as typeof import("node:fs") | undefined;
  return {
    environment: process?.env,
    readFile: fs && ((path) => fs.readFileSync(path, "utf8")),
  };
}

export async function connect(targets: Targets): Promise<SocketTransport> {
  return new SocketTransport(await connectToFirst(targets, clients));
}

interface StatementPreparationOptions {
  /** Tries whether prepared statements outlast a transaction. Rejects if it cannot connect. */
  readonly probe: () => Promise<PoolerFinding>;
  readonly apply: (configuration: PoolConfiguration) => void;
  /** Called when a pooler is found that loses prepared statements. */
  readonly onPooler: () => void;
}

/** With `"auto"`, statements are unnamed unless a probe has shown that they can be prepared. */
export class StatementPreparation {
  readonly #options: StatementPreparationOptions;
  #configuration: DatabaseOptions;
  /** Null until a probe has ended. */
  #finding: PoolerFinding | null = null;
  #probing: Promise<void> | null = null;

  constructor(configuration: DatabaseOptions, options: StatementPreparationOptions) {
    this.#configuration = configuration;
    this.#options = options;
  }

  get current(): PoolConfiguration {
    const { prepare } = this.#configuration;
    if (prepare !== "auto") return { ...this.#configuration, prepare, sharesSession: !prepare };
    const { keepsStatements, sharesSession } = this.#finding ?? statementsLost;
    return { ...this.#configuration, prepare: keepsStatements, sharesSession };
  }

  /** Whether the answer of a probe is needed. */
  get isUndecided(): boolean {
    return this.#configuration.prepare === "auto" && this.#finding === null;
  }

  /** Applies options. A change to `"auto"` probes in the background. */
  configure(configuration: DatabaseOptions): void {
    const isNew = configuration.prepare === "auto" && this.#configuration.prepare !== "auto";
    this.#configuration = configuration;
    if (isNew) this.#finding = null;
    this.#options.apply(this.current);
    if (isNew) void this.settle();
  }

  /** Probes unless the answer is known. Never rejects: the next call tries again. */
  async settle(): Promise<void> {
    if (!this.isUndecided) return;
    this.#probing ??= this.#options.probe().then(
      (finding) => this.#found(finding),
      () => {},
    ).finally(() => void (this.#probing = null));
    await this.#probing;
  }

  poolerFound(): void {
    if (this.#configuration.prepare !== "auto") return this.#options.onPooler();
    this.#found(statementsLost);
  }

  #found(finding: PoolerFinding): void {
    const isLossKnown = this.#finding?.keepsStatements === false;
    this.#finding = finding;
    this.#options.apply(this.current);
    if (!finding.keepsStatements && !isLossKnown) this.#options.onPooler();
  }
}
