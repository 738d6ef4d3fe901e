/** Encodes executions into one write, and prepares each statement at its first use. @module */
import { getOrMake } from "../../base/lib/group_by.ts";
import type { Statement } from "../transaction.ts";
import { FrameEncoder } from "../protocol/encoder.ts";
import { binaryFormat, textFormat } from "../protocol/messages.ts";
import type { StatementInFlight, TransactionExecution } from "./execution.ts";
import { PreparedStatements } from "./prepared_statements.ts";

export interface PreparingOptions {
  /** Whether statements are prepared. Unnamed statements are safe with transaction poolers. */
  readonly prepare: boolean;
  /** Maximum number of prepared statements on the server, per connection. */
  readonly preparedLimit: number;
  /** Whether a pooler may give each transaction another session. Default: not `prepare`. */
  readonly sharesSession?: boolean;
  /** Returns the prefix of statement names; called once per connection. */
  readonly statementPrefix?: () => string;
}

/** Longer statements are not prepared, because a client could make the server keep many plans. */
const maxPreparedLength = 8192;

interface Preparation {
  readonly execution: TransactionExecution;
  readonly name: string;
}

/** Statements that a single write prepares, by context and text. */
type Preparations = Map<string | null, Map<string, Preparation>>;

/** Position of the next statement in a write and in its transaction. */
interface WritePlace {
  readonly execution: TransactionExecution;
  readonly preparations: Preparations;
  /** `rank` of the oldest prepared statement that the transaction uses. */
  oldestRank: number;
  isBehindUserCode: boolean;
}

export class StatementWriter {
  readonly #encoder = new FrameEncoder();
  readonly #prepare: boolean;
  readonly #sharesSession: boolean;
  readonly #prepared: PreparedStatements;
  #toClose: readonly string[] = [];
  /** Text of the unnamed statement of the server; null if it is unknown. */
  #unnamed: string | null = null;

  constructor(options: PreparingOptions) {
    const { prepare, preparedLimit, sharesSession = !prepare, statementPrefix } = options;
    this.#prepare = prepare;
    this.#sharesSession = sharesSession;
    this.#prepared = new PreparedStatements(preparedLimit, statementPrefix?.());
  }

  /** Encodes executions after `setup`, a simple query. The bytes are valid until the next call. */
  write(executions: readonly TransactionExecution[], setup: string | null): readonly Uint8Array[] {
    if (setup !== null) {
      this.#encoder.query(setup);
      this.#unnamed = null;
    }
    this.#closeStatements();
    const preparations: Preparations = new Map();
    // A failure rolls back the cleanup, so each later transaction of the write repeats it.
    let cleanup: readonly Statement[] = [];
    for (const execution of executions) {
      const place = { execution, preparations, oldestRank: Infinity, isBehindUserCode: false };
      const sent = execution.statementsToSend(cleanup).map((statement) =>
        this.#statement(statement, place)
      );
      this.#encoder.sync();
      execution.sent(sent);
      if (execution.cleanupBehind.length > cleanup.length) cleanup = execution.cleanupBehind;
    }
    return this.#encoder.take();
  }

  /** Encodes further statements of a transaction, unprepared. The bytes are valid until the next call. */
  writeStatements(
    execution: TransactionExecution,
    statements: readonly Statement[],
  ): readonly Uint8Array[] {
    for (const statement of statements) {
      encode(this.#encoder, statement, { name: "", isParsed: true });
    }
    this.#unnamed = null;
    this.#encoder.sync();
    execution.sent(statements.map(({ text, use, framing, runsUserCode = false }) => (
      { text, use, framing, runsUserCode, context: null, preparing: null }
    )));
    return this.#encoder.take();
  }

  /** Records that the server has prepared a statement. The next write closes the statement it replaces. */
  remember({ context, text, preparing }: StatementInFlight): void {
    if (preparing === null) return;
    const replaced = this.#prepared.remember(context, text, preparing);
    if (replaced !== undefined) this.#toClose = [...this.#toClose, replaced];
  }

  forget(): void {
    this.#toClose = [...this.#toClose, ...this.#prepared.clear()];
  }

  /** Records that the server has skipped statements after an error: the unnamed one is unknown. */
  skipped(): void {
    this.#unnamed = null;
  }

  #closeStatements(): void {
    for (const name of this.#toClose) this.#encoder.closeStatement(name);
    this.#toClose = [];
    for (const name of this.#prepared.evict()) this.#encoder.closeStatement(name);
  }

  #statement(statement: Statement, place: WritePlace): StatementInFlight {
    const { execution, preparations } = place;
    const { text, use, runsUserCode = false, isShared = false } = statement;
    const context = isShared ? null : statement.planContext ?? execution.transaction.planContext;
    // A retry prepares nothing: the transaction before it may deallocate prepared statements.
    const isKept = this.#prepare && !execution.isRetry && statement.isUnnamed !== true &&
      text.length <= maxPreparedLength &&
      statement.hasValues !== true;
    const preparation = isKept ? preparations.get(context)?.get(text) : undefined;
    const known = isKept ? this.#known(context, text, place) : undefined;
    place.isBehindUserCode ||= runsUserCode;
    // A statement that another transaction of this write prepares is not used: if that transaction
    // fails first, the server skips its Parse.
    const usable = known ?? (preparation?.execution === execution ? preparation.name : undefined);
    const isPreparing = isKept && usable === undefined && preparation === undefined;
    const name = usable ?? (isPreparing ? this.#prepared.freshName() : "");
    if (isPreparing) {
      getOrMake(preparations, context, () => new Map()).set(text, { execution, name });
    }
    const isParsed = usable === undefined && (name !== "" || this.#unnamed !== text);
    if (name === "") {
      this.#unnamed = statement.isUnnamed === true && !this.#sharesSession ? text : null;
    }
    encode(this.#encoder, statement, { name, isParsed });
    const { framing, parse } = statement;
    return {
      text,
      use,
      parse,
      framing,
      runsUserCode,
      context,
      preparing: isPreparing ? name : null,
    };
  }

  /**
   * Returns the name of a prepared statement, if it can be used. A function of an earlier
   * transaction may have deallocated all statements. svc can repeat a transaction only if
   * PostgreSQL reports a missing statement before user-defined code runs. After such code, a
   * statement is used only if the transaction has used an older one, so that it must still exist.
   */
  #known(context: string | null, text: string, place: WritePlace): string | undefined {
    const entry = this.#prepared.use(context, text);
    if (entry === undefined) return undefined;
    if (place.isBehindUserCode && entry.rank < place.oldestRank) return undefined;
    place.oldestRank = Math.min(place.oldestRank, entry.rank);
    return entry.name;
  }
}

/** Encodes a statement with the name that it is prepared by; an empty name for the unnamed one. */
function encode(
  encoder: FrameEncoder,
  { text, params, use }: Statement,
  { name, isParsed }: { readonly name: string; readonly isParsed: boolean },
): void {
  if (isParsed) encoder.parse(name, text);
  encoder.bind(name, params, use === "result" || use === "held" ? binaryFormat : textFormat);
  encoder.execute();
}
