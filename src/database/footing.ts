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
   * divides by zero where the session has another role or search path. What is hurried fails with 55P03
   * when it would have to wait for a lock for more than a moment.
   */
  first(mode: FootingMode, isHurried?: boolean): Statement | null;
}

/** Position of `current_user` in answers that have it. */
export const userColumn = 2;

/** The session was on another footing than was thought, and still is when it was given this one. */
export class FootingLost extends Error {
  constructor() {
    super("the session has another role than it was given");
  }
}

/** What a batch begins with, and how it comes to its footing by that; null for those that need none. */
export interface Lead {
  readonly statements: readonly Statement[];
  readonly mode: FootingMode | null;
}

/**
 * For how many milliseconds a session stays on its footing: so late, too, it is noticed that the role
 * may not be taken any more.
 */
const longestStay = 1000;

/** As the session was when it was opened. Nobody needs a privilege for that, whoever the session is. */
const ownRole: Statement = { text: "reset role", params: [], use: "none" };
const ownPath: Statement = { text: "reset search_path", params: [], use: "none" };

const nothing: Lead = { statements: [], mode: null };
const unchanged: Lead = { statements: [], mode: "check" };

/**
 * Where a session is. A footing is only kept where it is certain that the next batch comes to the
 * same process of the server: {@linkcode SessionFooting.isDirect}.
 */
export class SessionFooting {
  /** Nothing stands between the session and the server's process. */
  isDirect = false;
  /** The session has its own role, or search path: that with which it was opened. */
  #hasOwnRole = true;
  #hasOwnPath = true;
  /** It was on another footing than its own once, or may have been. */
  #hasMoved = false;
  #role = "";
  #searchPath = "";
  /** Until when it stays there. */
  #until = 0;
  /** Something has run since that may have changed what the session is. */
  #isDoubtful = true;
  /** Code of the database's own may have left another role or search path since both were its own. */
  #hasRunCode = false;

  /**
   * What a batch begins with. `isBlock` tells that it has a BEGIN; `now` is in milliseconds. What needs
   * no footing may run code of the database's own, and does so as the session's own role at first.
   */
  before(
    wanted: Footing | "any" | undefined,
    { isBlock, isHurried, now }: {
      readonly isBlock: boolean;
      readonly isHurried: boolean;
      readonly now: number;
    },
  ): Lead {
    if (typeof wanted !== "object") {
      const statements = wanted === undefined ? this.#returnForGood() : this.#return(false);
      if (wanted !== undefined) this.#hasRunCode = this.#hasMoved = true;
      return statements.length === 0 ? nothing : { statements, mode: null };
    }
    if (isBlock || !this.isDirect) return this.#lead(wanted, "borrow", isHurried);
    const { role, searchPath } = wanted;
    const isThere = this.#role === role && this.#searchPath === searchPath &&
      !this.#isDoubtful && now < this.#until;
    if (isThere) {
      const check = wanted.first("check", isHurried);
      return check === null ? unchanged : { statements: [check], mode: "check" };
    }
    const lead = this.#lead(wanted, "enter", isHurried);
    this.#role = role;
    this.#searchPath = searchPath;
    this.#until = now + longestStay;
    this.#isDoubtful = false;
    this.#hasOwnRole = false;
    this.#hasOwnPath = false;
    this.#hasMoved = true;
    return lead;
  }

  /** Where the session is, is not known any more: what was changed may have been taken back. */
  lose(): void {
    this.#isDoubtful = true;
    if (!this.#hasMoved) return;
    this.#hasOwnRole = false;
    this.#hasOwnPath = false;
  }

  #lead(wanted: Footing, mode: "enter" | "borrow", isHurried: boolean): Lead {
    const first = wanted.first(mode, isHurried);
    return { statements: [...this.#return(false), ...(first === null ? [] : [first])], mode };
  }

  /** What gives the session its own role and search path again, whatever has run. */
  #returnForGood(): readonly Statement[] {
    if (this.#hasRunCode) this.#hasOwnRole = this.#hasOwnPath = false;
    this.#hasRunCode = false;
    return this.#return(true);
  }

  /** What gives the session its own role again, and its own search path where that is wanted. */
  #return(withPath: boolean): readonly Statement[] {
    this.#isDoubtful = true;
    const role = this.#hasOwnRole ? [] : [ownRole];
    this.#hasOwnRole = true;
    if (!withPath || this.#hasOwnPath) return role;
    this.#hasOwnPath = true;
    return [...role, ownPath];
  }
}
