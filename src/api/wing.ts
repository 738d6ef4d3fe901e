/** Interface of wings. A wing is a capability that the API can do without. `src/process/wings.ts`
 * lists the wings of the program. @module */
import type { ErrorDefinition } from "../base/errors/definition.ts";
import type { Config } from "../state/config/options.ts";
import type { OptionTable } from "../state/config/options/option.ts";
import type { AppState } from "../state/app_state/app_state.ts";
import type { FindRoute, GuardedRoute } from "../base/http/admin_route.ts";
import type { Observation } from "../base/observe/observation.ts";
import type { PoolCounts } from "../database/database.ts";
import type { AppStateOptions } from "../state/app_state/app_state_options.ts";
import type { HandlerState } from "../state/app_state/handler_state.ts";
import type { ConfigReader } from "../state/config/config_files.ts";
import type { Command, CommandContext } from "./command.ts";
import type { HandleApi, PathOpener } from "./handler/handler.ts";

/** The parts that a wing adds, all of which are optional. */
export interface Wing extends PathOpener {
  /** Name of the wing's folder. */
  readonly name: string;
  /** Options of the wing, which become fields of the configuration. */
  readonly options?: OptionTable;
  /** Errors of the wing, which the reference lists with the errors of the API. */
  readonly errors?: Readonly<Record<string, ErrorDefinition<never>>>;
  /** Rejects with an `Error` of one line if a package is missing that the configuration requires. */
  readonly requirePackages?: (config: Config) => Promise<void>;
  /** Commands of the wing, in the order of `--help`. */
  readonly commands?: readonly Command[];
  /** Data for the console, by path of the admin server. */
  readonly adminData?: (appState: AppState, options: AdminDataOptions) => AdminData;
  /** Returns a watcher of the process's service. The watcher reports by `observe`. */
  readonly watch?: (observe: (event: Observation) => void) => Watcher;
  /** Opens the console. `pool` returns the figures of all pools; null before the service exists. */
  readonly openConsole?: (pool: () => PoolCounts | null) => AdminConsole;
  /** Opens the services of many databases, which replace the single service of a process. */
  readonly host?: HostOpener;
  readonly recordSql?: CommandContext["recordSql"];
}

/** Watches the service of a process. */
export interface Watcher {
  observe(event: Observation): void;
  /** Called when the API accepts connections. */
  start(appState: AppState, options: AdminDataOptions): void;
  /** Called when the process ends. */
  stop(): void;
}

/** The console of a thread. It records requests, and shows them on the admin server. */
export interface AdminConsole extends Pick<Watcher, "observe" | "stop"> {
  /** Whether the console records requests now, so that their times must be measured. */
  readonly isWatched: boolean;
  /** Adds a line of the diagnostic log. */
  addLine(line: string): void;
  /** Returns the requests since the last call, for the console of another thread. */
  take(): unknown;
  /** Adds the requests of other threads, which their consoles have returned. */
  add(taken: readonly unknown[]): void;
  /** Returns a function that finds the console's routes. */
  routes(appState: HandlerState, options: ConsoleOptions): FindRoute;
}

export interface ConsoleOptions {
  readonly handleApi: HandleApi;
  /** Data of wings by path. */
  readonly data: AdminData;
  /** Whether the API server is listening. */
  readonly isLive: () => boolean;
}

export interface HostOpener {
  readonly isSet: (config: object) => boolean;
  /** Opens the host. Rejects with an `Error` of one line if options contradict each other. */
  readonly open: (options: HostOptions) => Promise<ServiceHost>;
}

export interface HostOptions {
  readonly reader: Pick<ConfigReader, "config" | "file" | "initialSource" | "read">;
  /** Wings that answer some paths of requests. */
  readonly wings: readonly Wing[];
  readonly observe: (event: Observation) => void;
  /** Default: no tracing. */
  readonly tracing?: Pick<AppStateOptions, "activeSpan" | "setSpanAttribute" | "traceStage"> | null;
}

/** The services of many databases in one process. */
export interface ServiceHost
  extends Pick<AppState, "announceShutdown" | "close" | "reloadConfig" | "reloadSchema"> {
  /** Configuration of the process. */
  readonly config: Config;
  /** Whether any of the databases executes a transaction. */
  readonly isBusy: boolean;
  readonly handle: (request: Request) => Promise<Response>;
  /** Returns the routes of the admin server. */
  adminRoutes(options: HostAdminOptions): ReadonlyMap<string, GuardedRoute>;
  /** Starts to observe changes of the databases. */
  start(): void;
  /** Ends endless streams, such as live queries. */
  endStreams(): void;
}

export interface HostAdminOptions {
  readonly isLive: () => boolean;
  /** Returns the metrics of the process. */
  readonly processMetrics: () => string;
}

/** The parts of the program that console data depends on. */
export interface AdminDataOptions {
  /** The words that call the program, in SQL and advice. */
  readonly program: string;
  /** Whether requests without a token run as the login role, which quick mode has chosen and reported. */
  readonly isLoginRole: boolean;
}

/** Functions by path that resolve with data, which is sent as JSON. They reject with an
 * `AdminDataError` if they refuse the request. */
export type AdminData = ReadonlyMap<string, (request: Request) => unknown>;

/** Reports a refused request for data, with a status and a reason in one line. */
export class AdminDataError extends Error {
  override readonly name = "AdminDataError";
  readonly status: number;

  constructor(status: number, reason: string) {
    super(reason);
    this.status = status;
  }
}

/** Returns the options of wings as one table. */
export function optionsOfWings(wings: readonly Wing[]): OptionTable {
  return Object.assign({}, ...wings.map(({ options }) => options));
}
