/** A connection apart from a pool, for questions about the state of a server. @module */
import { errors } from "../../errors/catalogue.ts";
import { Connection } from "../connection/connection.ts";
import { type BatchResult, metadataBatch, type ResultColumns, type Statement } from "../batch.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Transport } from "../transport.ts";

export interface ServerProbe {
  /** Returns the first row of a statement. Rejects if the server cannot be reached or refuses it. */
  ask(statement: Statement): Promise<ResultColumns>;
  /** Closes the connection and rejects the questions so far; the next one opens another. */
  reset(): void;
  /** Does the same for good: later questions are rejected, too. */
  close(): void;
}

export class ProbeConnection implements ServerProbe {
  readonly #connect: () => Promise<Transport>;
  readonly #clock: Pick<Clock, "now" | "schedule">;
  #connection: Promise<Connection> | null = null;
  /** Settles when the connection has answered all questions so far. */
  #answered: Promise<unknown> = Promise.resolve();
  #resets = 0;
  #isClosed = false;

  constructor(connect: () => Promise<Transport>, clock: Pick<Clock, "now" | "schedule">) {
    this.#connect = connect;
    this.#clock = clock;
  }

  ask(statement: Statement): Promise<ResultColumns> {
    const resets = this.#resets;
    const asked = this.#answered.then(() => {
      // A question of before a reset would share the connection with later ones.
      if (this.#isClosed || resets !== this.#resets) throw errors.connectionLost(null);
      return this.#execute(statement);
    });
    this.#answered = asked.catch(() => {});
    return asked;
  }

  reset(): void {
    this.#resets++;
    const connection = this.#connection;
    this.#connection = null;
    this.#answered = Promise.resolve();
    connection?.then((open) => open.destroy("the server does not answer"), () => {});
  }

  close(): void {
    this.#isClosed = true;
    this.reset();
  }

  async #execute(statement: Statement): Promise<ResultColumns> {
    const connection = await (this.#connection ??= this.#open());
    const batch = metadataBatch([statement]);
    const { rows } = await new Promise<BatchResult>((resolve, reject) =>
      connection.execute([{ batch, resolve, reject }])
    );
    return rows.at(-1)?.[0] ?? [];
  }

  #open(): Promise<Connection> {
    const opening: Promise<Connection> = this.#connect().then((transport) => {
      const forget = () => {
        if (this.#connection === opening) this.#connection = null;
      };
      return new Connection(transport, { prepare: false, preparedLimit: 0, clock: this.#clock }, {
        idle: () => {},
        closed: forget,
      });
    });
    opening.catch(() => {
      if (this.#connection === opening) this.#connection = null;
    });
    return opening;
  }
}
