/**
 * Decides whether a pool prepares statements where `db-prepared-statements` is `"auto"`.
 *
 * @module
 */
import { type PoolerFinding, statementsLost } from "../connect/pooler_probe.ts";
import type { DatabaseOptions } from "../database.ts";
import type { PoolConfiguration } from "../pool/pool.ts";

/** Dependencies of a {@linkcode StatementPreparation}. */
export interface StatementPreparationOptions {
  /** Tries whether prepared statements outlast a transaction. Rejects if it cannot connect. */
  readonly probe: () => Promise<PoolerFinding>;
  /** Configures the pool. */
  readonly apply: (configuration: PoolConfiguration) => void;
  /** Called when a pooler is found that loses prepared statements. */
  readonly onPooler: () => void;
}

/**
 * Applies the options of a pool. With `prepare: "auto"` statements are unnamed until a probe has shown that
 * they can be prepared, and from the moment on in which a pooler is found.
 */
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

  /** Options of the pool at present. */
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

  /** A connection has shown that a pooler loses prepared statements. */
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
