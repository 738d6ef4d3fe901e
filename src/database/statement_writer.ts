/**
 * What a session writes: the statements of runs as frames, each prepared when it is said for the first
 * time.
 *
 * @module
 */
import { areLinked, mostUntold } from "./chain.ts";
import type { Statement } from "./database.ts";
import { PreparedStatements } from "./prepared.ts";
import type { Run, Step } from "./run.ts";
import { binaryFormat, FrameEncoder, textFormat } from "./wire.ts";

/** How statements are prepared. */
export interface PreparingOptions {
  /** False uses the unnamed statement only, which is safe behind transaction poolers. */
  readonly prepare: boolean;
  /** How many prepared statements are kept on the server. */
  readonly preparedLimit: number;
  /** What the names of one session's statements begin with; asked once for each session. */
  readonly statementPrefix?: () => string;
}

/**
 * Texts of more characters than this are not kept prepared: the server holds their plans in memory,
 * and clients could make it hold many.
 */
const longestPrepared = 8192;

/** Names of statements that are prepared by one write, by their texts. */
type Fresh = Map<string, string>;

/** Puts one write at a time together. */
export class StatementWriter {
  readonly #encoder = new FrameEncoder();
  readonly #prepare: boolean;
  readonly #prepared: PreparedStatements;
  /** Names that the server is to forget with the next write. */
  #forgotten: readonly string[] = [];

  constructor({ prepare, preparedLimit, statementPrefix }: PreparingOptions) {
    this.#prepare = prepare;
    this.#prepared = new PreparedStatements(preparedLimit, statementPrefix?.());
  }

  /**
   * Writes runs with the statements that `saying` gives for each, after `setup`, if any. The bytes are
   * valid until the next write.
   */
  write(
    runs: readonly Run[],
    saying: (run: Run) => readonly Statement[],
    setup: string | null,
  ): readonly Uint8Array[] {
    if (setup !== null) this.#encoder.query(setup);
    for (const name of [...this.#forgotten, ...this.#prepared.evict()]) {
      this.#encoder.closeStatement(name);
    }
    this.#forgotten = [];
    this.#runs(runs, runs.map(saying));
    return this.#encoder.take();
  }

  /** Notes that the server has prepared what a step says. */
  remember({ text, preparing }: Step): void {
    if (preparing !== null) this.#prepared.remember(text, preparing);
  }

  /** The server is to forget all that it has prepared. */
  forget(): void {
    this.#forgotten = [...this.#forgotten, ...this.#prepared.clear()];
  }

  #runs(runs: readonly Run[], said: readonly (readonly Statement[])[]): void {
    const fresh: Fresh = new Map();
    let untold = 0;
    runs.forEach((run, at) => {
      const next = runs[at + 1];
      run.isLinked = next !== undefined && areLinked(run, next);
      run.steps = said[at]!.map((statement) => this.#statement(statement, fresh));
      run.at = 0;
      untold = run.isLinked ? untold + 1 : 0;
      if (!run.isLinked) this.#encoder.sync();
      else if (untold % mostUntold === 0) this.#encoder.flush();
    });
  }

  #statement({ text, params, use }: Statement, fresh: Fresh): Step {
    const prepare = this.#prepare && text.length <= longestPrepared;
    const known = prepare ? this.#prepared.use(text) ?? fresh.get(text) : undefined;
    const name = known ?? (prepare ? this.#prepared.freshName() : "");
    if (known === undefined) {
      this.#encoder.parse(name, text);
      if (prepare) fresh.set(text, name);
    }
    this.#encoder.bind(name, params, use === "answer" ? binaryFormat : textFormat);
    this.#encoder.execute();
    return { text, use, preparing: known === undefined && prepare ? name : null };
  }
}
