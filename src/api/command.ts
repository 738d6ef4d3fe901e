/** A command, such as `svc check`: its word, its flags, and the function that runs it. @module */
import type { ConfigArguments } from "../state/config/config_files.ts";
import type { Config } from "../state/config/options.ts";
import type { OpenGuard } from "./handler/exchange.ts";
import type { HandleApi, PathOpener } from "./handler/handler.ts";
import { AppState } from "../state/app_state/app_state.ts";
import type { QualifiedName } from "../state/schema_cache/schema_cache.ts";
import type { OptionTable } from "../state/config/options/option.ts";
import type { Transport } from "../database/transport.ts";
import type { ConfigSource } from "../state/config/source.ts";
import type { Observation } from "../base/observe/observation.ts";

/** A flag that only one command has. */
export interface CommandFlag {
  /** As typed, without the value: `--apply`, `-c`. */
  readonly name: string;
  /** The name and its value: `--yes`, `--apply[=URI]`, `--out=FILE`, `-c TEXT`. */
  readonly form: string;
  /** Whether a value is absent, optional, required, or the next argument. */
  readonly value: "none" | "optional" | "required" | "next";
  /** One phrase for `--help`. */
  readonly doc: string;
}

const arities: Readonly<Record<string, CommandFlag["value"]>> = {
  "": "none",
  "[": "optional",
  "=": "required",
  " ": "next",
};

/** Returns the flags of a table that maps the form of each to its description. A flag whose form
 * ends with `…` can be repeated; its values are joined by NUL. */
export function flagsOf(table: Readonly<Record<string, string>>): readonly CommandFlag[] {
  return Object.entries(table).map(([form, doc]) => {
    const [, name = "", sign = ""] = /^([\w-]+)(.?)/.exec(form)!;
    return { name, form, value: arities[sign]!, doc };
  });
}

/** Operands of a command: the arguments that match a pattern. */
export interface CommandOperands {
  /** Matches a whole argument that is an operand. */
  readonly pattern: RegExp;
  /** Name of an operand in `--help`. */
  readonly placeholder: string;
  /** One phrase for `--help`. */
  readonly doc: string;
}

export interface CommandCall {
  readonly config: ConfigArguments;
  /** Values of the command's flags by name. The value is empty for a flag without a value. Absent
   * flags have no entry. */
  readonly flags: ReadonlyMap<string, string>;
  /** The operands in the order of the call; empty if the command has no operands. */
  readonly operands: readonly string[];
}

/** Functions of the program that commands need, and cannot import. */
export interface CommandContext {
  /** Options of the wings. */
  readonly wingOptions: OptionTable;
  /** Returns the SQL that records changes of tables for live queries. `login` is the role that polls. */
  readonly recordSql: (login: string, tables: readonly RecordedTable[]) => string;
  /** Opens the guard of requests, which a wing of the program may provide. */
  readonly openGuard: OpenGuard;
  /** Serves until a signal ends the process. Resolves with the exit code. */
  readonly serve: (config: ConfigArguments, events?: ServeEvents) => Promise<number>;
  /** Runs a task with a service that serves no requests, but can read its database. Rejects if the
   * configuration is invalid, if the service cannot connect, or if the task rejects. */
  readonly withDatabase: (
    config: ConfigArguments,
    run: (appState: AppState, quick: QuickSettings | null) => Promise<number>,
  ) => Promise<number>;
  /** Runs a task with one connection to the configured database. Its requests are rolled back. */
  readonly withTransport: (
    config: ConfigArguments,
    run: (setup: TransportSetup) => Promise<number>,
  ) => Promise<number>;
}

/** A table whose changes are recorded. */
export interface RecordedTable extends QualifiedName {
  /** Column whose value is in the record of a change; null to record only the table. */
  readonly scope: string | null;
}

/** Settings that quick mode chooses in the absence of a configuration. */
export interface QuickSettings {
  readonly schemas: readonly string[];
  readonly anonRole: string;
  /** Whether the anonymous role is the login role. */
  readonly isLoginRole: boolean;
}

/** A connection, and the data of a service that uses only this connection. */
export interface TransportSetup {
  /** A connection that executes nothing. Each run leaves it so, for the next run. */
  readonly transport: Transport;
  readonly source: ConfigSource;
  /** Wings that answer some paths of requests. */
  readonly wings: readonly PathOpener[];
  readonly observe: (event: Observation) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Additions of a command to the service that it starts. All parts are optional. */
export interface ServeEvents {
  /** Called when the API accepts connections, with the startup configuration. */
  readonly onListening?: (config: Config) => void;
  /** Whether `/` redirects browsers to the console. Default: only in quick mode. */
  readonly opensConsole?: boolean;
  /** Wings that precede the wings of the program. Default: none. */
  readonly wings?: readonly PathOpener[];
  /** Opens a front that answers requests on the API's port. Default: the API answers. */
  readonly front?: (handle: HandleApi) => ApiFront;
}

/** Answers requests in place of the API. */
export interface ApiFront {
  readonly handle: HandleApi;
  /** Resolves when the front no longer uses the handler. The service closes afterwards. */
  readonly stop: () => Promise<void>;
}

export interface Command {
  /** The first argument, which selects the command. */
  readonly name: string;
  /** One phrase for `--help`. */
  readonly doc: string;
  /** Arguments of a typical call, for `--help`. */
  readonly example: string;
  /** Documentation page relative to the project's root, for `--help`. */
  readonly page: string;
  readonly flags: readonly CommandFlag[];
  /** Whether the command reads `svc.conf` if no configuration is named. Default: true. */
  readonly readsUsualFile?: false;
  /** The operands, which precede the configuration. Default: none. */
  readonly operands?: CommandOperands;
  /** Exit code if the call is invalid or `run` rejects. Default: 1. With 2, the exit code of a
   * failed connection is 3. */
  readonly failureCode?: 1 | 2;
  /** Resolves with the exit code. */
  readonly run: (call: CommandCall, context: CommandContext) => Promise<number>;
}
