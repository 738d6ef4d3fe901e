/**
 * Encodes executions into the frames of one write, and prepares each statement at its first use.
 *
 * @module
 */
import type { Statement } from "../database.ts";
import { FrameEncoder } from "../protocol/encoder.ts";
import { binaryFormat, textFormat } from "../protocol/messages.ts";
import type { BatchExecution, StatementInFlight } from "./execution.ts";
import { PreparedStatements } from "./prepared_statements.ts";

/** How statements are prepared. */
export interface PreparingOptions {
  /** False uses the unnamed statement only, which is safe behind transaction poolers. */
  readonly prepare: boolean;
  /** Maximum number of prepared statements on the server, per connection. */
  readonly preparedLimit: number;
  /** Returns what the names of a connection's statements begin with; called once per connection. */
  readonly statementPrefix?: () => string;
}

/**
 * Texts with more characters than this are not kept prepared: the server holds their plans in memory,
 * and a client could make it hold many.
 */
const maxPreparedLength = 8192;

/** A statement that a write prepares. */
interface Preparation {
  readonly execution: BatchExecution;
  readonly name: string;
}

/** The statements that one write prepares, by role and text. */
type Preparations = Map<string | null, Map<string, Preparation>>;

/** Encodes one write at a time. */
export class StatementWriter {
  readonly #encoder = new FrameEncoder();
  readonly #prepare: boolean;
  readonly #prepared: PreparedStatements;
  /** Names that the next write closes on the server. */
  #toClose: readonly string[] = [];

  constructor({ prepare, preparedLimit, statementPrefix }: PreparingOptions) {
    this.#prepare = prepare;
    this.#prepared = new PreparedStatements(preparedLimit, statementPrefix?.());
  }

  /**
   * Encodes executions, each with a Sync of its own, after `setup`, SQL that is sent as a simple query.
   * The bytes are valid until the next call.
   */
  write(executions: readonly BatchExecution[], setup: string | null): readonly Uint8Array[] {
    if (setup !== null) this.#encoder.query(setup);
    this.#closeStatements();
    const preparations: Preparations = new Map();
    for (const execution of executions) {
      const sent = execution.statementsToSend().map((statement) =>
        this.#statement(statement, execution, preparations)
      );
      this.#encoder.sync();
      execution.sent(sent);
    }
    return this.#encoder.take();
  }

  /** Encodes one statement of an execution that is under way, such as its COMMIT. */
  writeStatement(execution: BatchExecution, statement: Statement): readonly Uint8Array[] {
    const sent = this.#statement(statement, execution, new Map());
    this.#encoder.sync();
    execution.sent([sent]);
    return this.#encoder.take();
  }

  /** Records that the server has prepared a statement. */
  remember({ role, text, preparing }: StatementInFlight): void {
    if (preparing !== null) this.#prepared.remember(role, text, preparing);
  }

  /** Has the next write close all prepared statements. */
  forget(): void {
    this.#toClose = [...this.#toClose, ...this.#prepared.clear()];
  }

  #closeStatements(): void {
    for (const name of this.#toClose) this.#encoder.closeStatement(name);
    this.#toClose = noNames;
    for (const name of this.#prepared.evict()) this.#encoder.closeStatement(name);
  }

  #statement(
    { text, params, use, runsUserCode = false }: Statement,
    execution: BatchExecution,
    preparations: Preparations,
  ): StatementInFlight {
    const role = runsUserCode ? execution.batch.role : null;
    // A retry relies on no statement that the batch before it could deallocate.
    const isKept = this.#prepare && !execution.isRetry && text.length <= maxPreparedLength;
    const preparation = isKept ? preparations.get(role)?.get(text) : undefined;
    const known = isKept ? this.#prepared.use(role, text) : undefined;
    // The server skips the Parse of another batch if that batch fails earlier.
    const usable = known ?? (preparation?.execution === execution ? preparation.name : undefined);
    const isPreparing = isKept && usable === undefined && preparation === undefined;
    const name = usable ?? (isPreparing ? this.#prepared.freshName() : "");
    if (usable === undefined) this.#encoder.parse(name, text);
    if (isPreparing) remember(preparations, { role, text, preparation: { execution, name } });
    this.#encoder.bind(name, params, use === "result" ? binaryFormat : textFormat);
    this.#encoder.execute();
    return { text, use, runsUserCode, role, preparing: isPreparing ? name : null };
  }
}

const noNames: readonly string[] = [];

function remember(
  preparations: Preparations,
  { role, text, preparation }: {
    readonly role: string | null;
    readonly text: string;
    readonly preparation: Preparation;
  },
): void {
  const texts = preparations.get(role);
  if (texts === undefined) preparations.set(role, new Map([[text, preparation]]));
  else texts.set(text, preparation);
}
