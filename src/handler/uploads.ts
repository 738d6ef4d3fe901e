/** The long bodies of a service: temporary files in which they wait, and the connections that those
 * without a file may hold. @module */
import type { Database } from "../database/database.ts";
import { systemClock } from "../lib/clock.ts";
import { openSpoolFile, type SpoolFile, SpoolSpace } from "../lib/spool_file.ts";
import { errors } from "../errors/catalogue.ts";
import type { PayloadPieces } from "../request/api_request.ts";
import type { DivisionOptions } from "../request/body/divided_body.ts";
import { MinRate } from "../lib/time_limits.ts";

/** The part of the pool that bodies may hold while they arrive. */
const poolShare = 1 / 4;

/** How the body of one request is divided. */
interface UploadOptions extends Pick<DivisionOptions, "isDivisible"> {
  /** The most bytes of all temporary files; 0 for no files. */
  readonly maxBytes: number;
  /** Collects the files of the request. */
  readonly files: SpoolFile[];
}

/** Shared by the requests of a service. */
export class Uploads {
  readonly #database: Pick<Database, "counts">;
  readonly #space: SpoolSpace;
  /** How many bodies arrive while they hold a connection. */
  #arriving = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(database: Pick<Database, "counts">, space: SpoolSpace = new SpoolSpace()) {
    this.#database = database;
    this.#space = space;
  }

  /** Returns how one body is divided. The caller closes the files. */
  division({ maxBytes, files, isDivisible }: UploadOptions): DivisionOptions {
    const space = this.#space;
    return {
      isDivisible,
      openSpool: () => {
        const file = maxBytes === 0 ? null : openSpoolFile({ space, maxBytes });
        if (file !== null) files.push(file);
        return file;
      },
      minRate: new MinRate(systemClock, errors),
    };
  }

  /**
   * Runs a transaction that reads the pieces, and closes them. If the pieces are not stored, it waits
   * until enough other such transactions have ended.
   */
  async run<Result>(pieces: PayloadPieces, transaction: () => Promise<Result>): Promise<Result> {
    try {
      if (pieces.areStored) return await transaction();
      await this.#enter();
      try {
        return await transaction();
      } finally {
        this.#leave();
      }
    } finally {
      await pieces.close();
    }
  }

  async #enter(): Promise<void> {
    const max = Math.max(1, Math.floor(this.#database.counts().max * poolShare));
    if (this.#arriving < max) {
      this.#arriving++;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Passes the place on to the one that has waited longest. */
  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#arriving--;
    else next();
  }
}
