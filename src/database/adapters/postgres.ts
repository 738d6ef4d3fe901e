/** PostgreSQL over a socket, which `npm:pg` opens, encrypts and authenticates. @module */
import { version } from "../../base/version.ts";
import { metadataTransaction, type Statement, type Transaction } from "../transaction.ts";
import {
  connectionSetup,
  type Database,
  type DatabaseConfig,
  type DatabaseDependencies,
  type DatabaseOptions,
  type Notifications,
  type PooledDatabase,
} from "../database.ts";
import { duplicateStatement, type StaleStatement } from "../protocol/server_error.ts";
import { type PoolerFinding, probePooler, statementsLost } from "./pooler_probe.ts";
import { statementNamePrefix } from "../failure.ts";
import { Pool } from "../pool/pool.ts";
import type { PoolConfiguration } from "../pool/pool_options.ts";
import { socketsOfRuntime } from "../connect/reading_socket.ts";
import type { ConnectionEnvironment } from "../connect/connection_parameters.ts";
import { isConnectionUri } from "../connect/connection_string.ts";
import {
  type ConnectionSources,
  connectionTargets,
  type Settings,
  type Targets,
} from "../connect/targets.ts";
import { builtinModule } from "../../base/lib/builtin_modules.ts";
import { systemClock } from "../../base/lib/clock.ts";
import { errorCode } from "../../base/lib/error_code.ts";
import { BodySpool } from "../../base/lib/body_spool.ts";
import { SpoolSpace, temporaryFiles } from "../../base/lib/spool_file.ts";
import { UnpooledDatabase } from "./per_request.ts";
import { connect } from "./socket_transport.ts";
import { primariesOf, subscribe } from "./subscribe.ts";

/** Maximum number of prepared statements per connection. */
const preparedLimit = 500;

export function openPostgres(config: DatabaseConfig, dependencies: DatabaseDependencies): Database {
  const targets = targetsOf(config, dependencies);
  return dependencies.connections === "per-request"
    ? new UnpooledDatabase(() => connect(targets))
    : openPool(targets, openSpool(config), config, dependencies);
}

export function openSpool({ serverSpoolSize = 0 }: DatabaseConfig): BodySpool {
  return new BodySpool({
    space: new SpoolSpace(),
    maxFileBytes: serverSpoolSize,
    openFile: temporaryFiles(),
  });
}

export function openPool(
  targets: Targets,
  spool: BodySpool,
  config: DatabaseConfig,
  dependencies: DatabaseDependencies,
): PooledDatabase {
  let isEncrypted: boolean | null = null;
  const settings = poolSettings(config);
  const preparation = new StatementPreparation({ prepare: config.dbPreparedStatements }, {
    probe: () => probePooler(targets, settings.acquisitionTimeoutMs),
    apply: (configuration) => pool.configure(configuration),
  });
  const pool = new Pool({
    ...settings,
    prepare: preparation.current.prepare,
    freesChunks: dependencies.freesChunks ?? false,
    spool,
    connect: async () => {
      const transport = await connect(targets);
      isEncrypted = transport.isEncrypted;
      return transport;
    },
    onStatementForgotten: (sqlstate) => preparation.statementForgotten(sqlstate),
  });
  return {
    ...transactionsOf(pool, preparation),
    pool: {
      queueSeconds: pool.queueSeconds,
      flush: () => pool.flush(),
      configure: (changed) => preparation.configure(changed),
      ask: () => pool.ask(),
      suspect: () => pool.suspect(),
      isEncrypted: () => isEncrypted,
      bodySpool: spool,
    },
    notifications: notifications(pool, targets, { config, dependencies }),
    close: () => pool.close().then(() => preparation.checked),
  };
}

function poolSettings(config: DatabaseConfig) {
  return {
    preparedLimit,
    statementPrefix,
    setup: connectionSetup,
    clock: systemClock,
    max: Math.max(1, config.dbPool),
    acquisitionTimeoutMs: config.dbPoolAcquisitionTimeout * 1000,
    maxIdleTimeMs: config.dbPoolMaxIdletime * 1000,
    maxLifetimeMs: config.dbPoolMaxLifetime * 1000,
  };
}

function notifications(
  pool: Pool,
  targets: Targets,
  { config, dependencies }: {
    readonly config: DatabaseConfig;
    readonly dependencies: DatabaseDependencies;
  },
): Notifications {
  const channelUri = config.dbChannelUri ?? null;
  const channelTargets = channelUri === null
    ? targets
    : targetsOf({ ...config, dbUri: channelUri }, dependencies);
  return {
    subscribe: (channel, events) => subscribe(channelTargets, channel, events),
    notify: async (channel, payload) => {
      const database = config.dbPool > 1
        ? pool
        : new UnpooledDatabase(() => connect(primariesOf(targets)));
      await database.transaction(notifyTransaction(channel, payload));
    },
  };
}

function transactionsOf(pool: Pool, preparation: StatementPreparation) {
  return {
    transaction: (...[transaction, caller]: Parameters<Pool["transaction"]>) => {
      // Some threads never call `version()`, which probes for a pooler. They probe here.
      if (preparation.isUndecided) void preparation.settle();
      return pool.transaction(transaction, caller);
    },
    version: async () => {
      await preparation.settle();
      return await pool.version();
    },
    counts: () => pool.counts(),
  } satisfies Partial<Database>;
}

/** Returns the transaction of a notification. It is not logged as a use of the pool. */
function notifyTransaction(channel: string, payload: string): Transaction {
  const text = "select pg_catalog.pg_notify($1, $2)";
  const statement: Statement = { text, params: [channel, payload], use: "none" };
  return { ...metadataTransaction([statement]), isTraced: false };
}

/** Returns a random prefix of statement names. With a pooler, a name with a fixed prefix could
 * execute the statement of another connection. */
function statementPrefix(): string {
  const random = crypto.getRandomValues(new Uint32Array(1))[0]!;
  return `${statementNamePrefix}${random.toString(36)}_`;
}

/** Parses the connection string, and adds to each server the settings that all connections share. */
export function targetsOf(
  { dbUri: uri, dbPasswordFile: passwordFile = null, dbPoolAcquisitionTimeout, dialect }: Pick<
    DatabaseConfig,
    "dbUri" | "dbPasswordFile" | "dbPoolAcquisitionTimeout" | "dialect"
  >,
  { applicationName }: Pick<DatabaseDependencies, "applicationName">,
): Targets {
  const isNamed = isConnectionUri(uri) || dialect.namesApplicationInKeywords;
  const sources = runtimeSources();
  const { servers, ...others } = connectionTargets(uri, sources);
  const sockets = socketsOfRuntime();
  const common = {
    ...(sockets === null ? {} : {
      stream: ({ ssl }: { readonly ssl?: unknown }) => ssl ? sockets.plain() : sockets.reading(),
    }),
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    connectionTimeoutMillis: dbPoolAcquisitionTimeout * 1000,
  };
  const name = isNamed ? { fallback_application_name: `${applicationName} ${version}` } : {};
  const complete = (settings: Settings) => ({
    ...common,
    ...settings,
    ...(passwordFile === null ? {} : { password: passwordReader(passwordFile, sources) }),
    ...name,
    enableChannelBinding: settings["channel_binding"] !== "disable",
  });
  return { ...others, servers: servers.map(complete) };
}

/** Returns a function that reads the password of a connection. Final line breaks are removed. */
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

function runtimeSources(): ConnectionSources {
  const { process } = globalThis as { process?: { env?: ConnectionEnvironment } };
  const fs = builtinModule("node:fs");
  return {
    environment: process?.env,
    ...(fs === null ? {} : { readFile: (path) => fs.readFileSync(path, "utf8") }),
  };
}

interface StatementPreparationOptions {
  /** Tests whether prepared statements outlive a transaction. Rejects if it cannot connect. */
  readonly probe: () => Promise<PoolerFinding>;
  readonly apply: (configuration: PoolConfiguration) => void;
}

/** With `"auto"`, statements are unnamed unless a probe has shown that they can be prepared. */
export class StatementPreparation {
  /** Result of the last probe; null until a probe has ended. */
  #finding: PoolerFinding | null = null;
  #probing: Promise<void> | null = null;
  #checking: Promise<void> | null = null;

  constructor(
    private configuration: DatabaseOptions,
    private readonly options: StatementPreparationOptions,
  ) {}

  get current(): PoolConfiguration {
    const { prepare } = this.configuration;
    if (prepare !== "auto") return { ...this.configuration, prepare, sharesSession: !prepare };
    const { keepsStatements, sharesSession } = this.#finding ?? statementsLost;
    return { ...this.configuration, prepare: keepsStatements, sharesSession };
  }

  get isUndecided(): boolean {
    return this.configuration.prepare === "auto" && this.#finding === null;
  }

  /** Applies options. A change to `"auto"` probes in the background. */
  configure(configuration: DatabaseOptions): void {
    const isNew = configuration.prepare === "auto" && this.configuration.prepare !== "auto";
    this.configuration = configuration;
    if (isNew) this.#finding = null;
    this.options.apply(this.current);
    if (isNew) void this.settle();
  }

  /** Probes unless the result is known. Never rejects: after a failure, the next call probes again. */
  async settle(): Promise<void> {
    if (!this.isUndecided) return;
    this.#probing ??= this.options.probe().then(
      (finding) => this.#found(finding),
      () => {},
    ).finally(() => void (this.#probing = null));
    await this.#probing;
  }

  /** Finds out why the server forgot a statement: a pooler, or a function that has deallocated it. */
  statementForgotten(sqlstate: StaleStatement): void {
    // A pooler is certain: names are random, so another connection prepared this name.
    if (sqlstate === duplicateStatement) return this.#poolerFound();
    this.#checking ??= this.options.probe().then(
      ({ keepsStatements }) => void (keepsStatements || this.#poolerFound()),
      () => void (this.#checking = null),
    );
  }

  /** Resolves when no check for a pooler runs. */
  get checked(): Promise<void> {
    return this.#checking ?? Promise.resolve();
  }

  #poolerFound(): void {
    if (this.configuration.prepare !== "auto") return this.configuration.onPooler?.();
    this.#found(statementsLost);
  }

  #found(finding: PoolerFinding): void {
    const isLossKnown = this.#finding?.keepsStatements === false;
    this.#finding = finding;
    this.options.apply(this.current);
    if (!finding.keepsStatements && !isLossKnown) this.configuration.onPooler?.();
  }
}
