/**
 * On which footing a session is: the role and the search path that it keeps from one batch to the
 * next, so that batches which need the same ones need not say so.
 *
 * @module
 */
import type { Statement } from "./database.ts";

/**
 * How a batch comes to its role and search path. `enter` takes them for the batches to come as well,
 * `check` finds them taken, `borrow` takes them for the transaction alone.
 */
export type FootingMode = "enter" | "check" | "borrow";

/**
 * What a batch needs its session to be that runs no code of the database's own, and so leaves the
 * session as it was.
 */
export interface Footing {
  readonly role: string;
  /** As the text of `search_path`. */
  readonly searchPath: string;
  /** The answer has `current_user` as its third column, which is looked at in place of a `check`. */
  readonly inAnswer: boolean;
  /**
   * The statement that the batch begins with; null for the `check` that is made in the answer. A check
   * divides by zero where the session has another role.
   */
  first(mode: FootingMode): Statement | null;
}

/** Position of `current_user` in answers that have it. */
export const userColumn = 2;

/**
 * For how many milliseconds a session stays on its footing: so late, too, it is noticed that the role
 * may not be taken any more.
 */
const longestStay = 1000;

/**
 * Where a session is. A footing is only kept where it is certain that the next batch comes to the
 * same process of the server: {@linkcode SessionFooting.isDirect}.
 */
export class SessionFooting {
  /** Nothing stands between the session and the server's process. */
  isDirect = false;
  /** Null for what it was when it was opened. */
  #role: string | null = null;
  #searchPath = "";
  /** Until when it stays there. */
  #until = 0;
  /** Something has run since that may have changed what the session is. */
  #isDoubtful = false;

  /**
   * The statement that a batch begins with; null for none. `isBlock` tells that it has a BEGIN; `now` is
   * in milliseconds.
   */
  before(wanted: Footing | "any" | undefined, isBlock: boolean, now: number): Statement | null {
    if (typeof wanted !== "object") {
      this.#isDoubtful = true;
      return wanted === undefined && this.#role !== null ? asOpened : null;
    }
    if (isBlock || !this.isDirect) return wanted.first("borrow");
    const { role, searchPath } = wanted;
    const isThere = this.#role === role && this.#searchPath === searchPath &&
      !this.#isDoubtful && now < this.#until;
    if (isThere) return wanted.first("check");
    this.#role = role;
    this.#searchPath = searchPath;
    this.#until = now + longestStay;
    this.#isDoubtful = false;
    return wanted.first("enter");
  }

  /** Where the session is, is not known any more. */
  lose(): void {
    this.#isDoubtful = true;
  }
}

/** As the session was when it was opened, for one transaction. */
const asOpened: Statement = {
  text: "select pg_catalog.set_config('role', 'none', true), " +
    "pg_catalog.set_config('search_path', reset_val, true) " +
    "from pg_catalog.pg_settings where name = 'search_path'",
  params: [],
  use: "none",
};
