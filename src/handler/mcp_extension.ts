/**
 * The part of a handler that takes the endpoint for agents from another module.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import type { ConfigSource } from "../config/source.ts";
import { loadMcp } from "./mcp_host.ts";
import type { LoadMcp } from "./mcp_port.ts";

type Options = Readonly<Record<string, unknown>>;

/** Holds the endpoint and its options until the handler starts. */
export class McpExtension {
  readonly #check: (options: Options) => Partial<Config>;
  #load: LoadMcp = loadMcp;
  #options: Partial<Config> = {};
  #source: ConfigSource | null = null;

  constructor(check: (options: Options) => Partial<Config>) {
    this.#check = check;
  }

  /** Checked options. */
  get options(): Partial<Config> {
    return this.#options;
  }

  /** Returns the source of the configuration, which is made once. */
  start(makeSource: () => ConfigSource): ConfigSource {
    return this.#source ??= makeSource();
  }

  /** Loads the endpoint. */
  load(): ReturnType<LoadMcp> {
    return this.#load();
  }

  /** Sets endpoint and options. */
  readonly extend = (load: LoadMcp, options: Options): void => {
    if (this.#source !== null) throw new Error("withMcp: the handler has started");
    this.#options = this.#check(options);
    this.#load = load;
  };
}
