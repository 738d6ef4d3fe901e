/** The port of wings: a wing is a capability that the API can do without. `src/process/wings.ts`
 * lists the wings of the program. @module */
import type { ErrorDefinition } from "../base/errors/definition.ts";
import type { Config } from "../state/config/options.ts";
import type { OptionTable } from "../state/config/options/option.ts";
import type { AppState } from "../state/app_state/app_state.ts";
import type { Command } from "./command.ts";
import type { PathOpener } from "./handler/handler.ts";

/** The parts that a wing adds. Each may be absent. */
export interface Wing extends PathOpener {
  /** Name of its folder. */
  readonly name: string;
  /** Its options, whose values are fields of the configuration. */
  readonly options?: OptionTable;
  /** Its errors, which the reference lists with the errors of the API. */
  readonly errors?: Readonly<Record<string, ErrorDefinition<never>>>;
  /** Rejects with an `Error` of one line if a package is missing that the configuration needs. */
  readonly requirePackages?: (config: Config) => Promise<void>;
  /** In the order of `--help`. */
  readonly commands?: readonly Command[];
  /** Data of the console by path of the admin server. */
  readonly adminData?: (appState: AppState, options: AdminDataOptions) => AdminData;
}

/** The request data on which data of the console depends. */
export interface AdminDataOptions {
  /** The words that call the program, in SQL and advice. */
  readonly program: string;
  /** Requests without a token run as the login role, as quick mode chose and reported. */
  readonly isLoginRole: boolean;
}

/**
 * Functions that resolve with the data of a path, which is sent as JSON. They reject with an `AdminDataError`
 * for a request that they refuse.
 */
export type AdminData = ReadonlyMap<string, (request: Request) => unknown>;

/** A refused request for data: its status, and the reason in one line. */
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
