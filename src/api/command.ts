/** A command of the command line, such as `svc check`: its word, its flags, and the function that
 * runs it. @module */
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
  /** The name, with the name of the value: `--yes`, `--apply[=URI]`, `--out=FILE`, `-c TEXT`. */
  readonly form: string;
  /** Whether the value is absent, optional, required, or the next argument. */
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

/**
 * Returns the flags of a table of forms and phrases. A flag whose form ends with `…` may be given
 * several times; its values are joined by NUL.
 */
export function flagsOf(table: Readonly<Record<string, string>>): readonly CommandFlag[] {
  return Object.entries(table).map(([form, doc]) => {
    const [, name = "", sign = ""] = /^([\w-]+)(.?)/.exec(form)!;
    return { name, form, value: arities[sign]!, doc };
  });
}

/** Arguments of a command other than the configuration, known by their form. */
export interface CommandOperands {
  /** Matches whole arguments that are operands. */
  readonly pattern: RegExp;
  /** Name of an operand in `--help`. */
  readonly placeholder: string;
  /** One phrase for `--help`. */
  readonly doc: string;
}

export interface CommandCall {
  readonly config: ConfigArguments;
  /**
   * Values of the command's flags by name. A flag without a value has the empty text, an absent
   * flag has no entry.
   */
  readonly flags: ReadonlyMap<string, string>;
  /** In the order of the arguments; empty for commands without operands. */
  readonly operands: readonly string[];
}

/** Parts of the program that commands use, from folders that they cannot import. */
export interface CommandContext {
  /** Options of the wings. */
  readonly wingOptions: OptionTable;
  /** Returns the SQL that records changes of tables for live queries; `login` is the role that polls. */
  readonly recordSql: (login: string, tables: readonly RecordedTable[]) => string;
  /** Makes what decides about requests, of the wings of the program. */
  readonly openGuard: OpenGuard;
  /** Serves until a signal ends the process. Resolves with the exit code. */
  readonly serve: (config: ConfigArguments, events?: ServeEvents) => Promise<number>;
  /**
   * Runs a task with a service that serves no requests, and whose database can be read. Rejects if the
   * configuration is invalid, if there is no connection, or if the task does.
   */
  readonly withDatabase: (
    config: ConfigArguments,
    run: (appState: AppState, quick: QuickSettings | null) => Promise<number>,
  ) => Promise<number>;
  /** Runs a task with one connection of the configuration, for requests that roll back. */
  readonly withTransport: (
    config: ConfigArguments,
    run: (setup: TransportSetup) => Promise<number>,
  ) => Promise<number>;
}

/** A table whose changes are recorded. */
export interface RecordedTable extends QualifiedName {
  /** Column whose values narrow the record of a change; null for a record of the table alone. */
  readonly scope: string | null;
}

/** The settings that quick mode chose instead of a configuration. */
export interface QuickSettings {
  readonly schemas: readonly string[];
  readonly anonRole: string;
  /** Whether the anonymous role is the login role. */
  readonly isLoginRole: boolean;
}

/** A connection, and what a service on it needs. */
export interface TransportSetup {
  /** An unused connection; it can be used for the next run. */
  readonly transport: Transport;
  readonly source: ConfigSource;
  /** Answer some paths of requests. */
  readonly wings: readonly PathOpener[];
  readonly observe: (event: Observation) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** Events of a service, and what answers in its place. */
export interface ServeEvents {
  /** The API accepts connections. The configuration is the one that the service started with. */
  readonly onListening?: (config: Config) => void;
  /** Sends browsers from `/` to the console. Default: only in quick mode. */
  readonly opensConsole?: boolean;
  /** Precede the wings of the program. Default: none. */
  readonly wings?: readonly PathOpener[];
  /** Answers the requests of the API's port, with the handler at hand. Default: the handler answers. */
  readonly front?: (handle: HandleApi) => ApiFront;
}

/** Answers requests instead of the API. */
export interface ApiFront {
  readonly handle: HandleApi;
  /** Resolves when it uses the handler no more. The service closes after that. */
  readonly stop: () => Promise<void>;
}

export interface Command {
  /** The first argument that selects the command. */
  readonly name: string;
  /** One phrase for `--help`. */
  readonly doc: string;
  /** Arguments of a useful call, for `--help`. */
  readonly example: string;
  /** The page of the documentation, from the project's root, for `--help`. */
  readonly page: string;
  readonly flags: readonly CommandFlag[];
  /** Whether a call that names no configuration reads `svc.conf`. Default: true. */
  readonly readsUsualFile?: false;
  /** Operands precede the configuration. Default: no operands. */
  readonly operands?: CommandOperands;
  /**
   * Exit code of a call that is invalid, or whose `run` rejects. Default: 1. With 2, the exit code
   * of a call without a connection is 3.
   */
  readonly failureCode?: 1 | 2;
  /** Resolves with the exit code. */
  readonly run: (call: CommandCall, context: CommandContext) => Promise<number>;
}
