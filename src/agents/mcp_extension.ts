/** The part of a handler that takes the endpoint for agents from another module. @module */
import type { Config } from "../config/options.ts";
import type { ConfigSource } from "../config/source.ts";
import { loadMcp } from "./mcp_host.ts";
import type { LoadMcp } from "./mcp_port.ts";

type Options = Readonly<Record<string, unknown>>;

/** Holds the endpoint and the configuration of a handler until it starts. */
export class McpExtension {
  readonly #configure: (added: Options) => Partial<Config>;
  #load: LoadMcp = loadMcp;
  #config: Partial<Config>;
  #source: ConfigSource | null = null;

  /** `configure` returns the configuration with further options. Throws if it is invalid. */
  constructor(configure: (added: Options) => Partial<Config>) {
    this.#configure = configure;
    this.#config = configure({});
  }

  get config(): Partial<Config> {
    return this.#config;
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
    this.#config = this.#configure(options);
    this.#load = load;
  };
}
