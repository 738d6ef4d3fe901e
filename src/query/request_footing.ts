/**
 * What a quiet transaction starts with, one in which no code of the database's own runs: role and search
 * path, which a session keeps from one to the next, and what the request said where defaults may read it.
 *
 * @module
 */
import type { Statement } from "../database/database.ts";
import type { Footing, FootingMode } from "../database/footing.ts";
import { compile, type Sql, sql } from "../sql/fragment.ts";
import { modes, type TransactionSettings } from "./settings.ts";

/**
 * What a quiet transaction is for. Nothing runs in it that would read what the request said when it
 * reads, or that could say anything of the response.
 */
export type Purpose = "reading" | "writing";

/** The footing of a request's transaction. */
export class RequestFooting implements Footing {
  readonly role: string;
  readonly searchPath: string;
  readonly #purpose: Purpose;
  readonly #settings: TransactionSettings;

  constructor(purpose: Purpose, settings: TransactionSettings) {
    this.#purpose = purpose;
    this.#settings = settings;
    this.role = settings.role;
    this.searchPath = settings.searchPath;
  }

  get inAnswer(): boolean {
    return this.#purpose === "reading";
  }

  first(mode: FootingMode): Statement | null {
    const { role, searchPath } = this;
    const text = texts[this.#purpose][mode];
    if (text === null) return null;
    switch (text.says) {
      case "place":
        return { text: text.text, params: [role, searchPath], use: "none" };
      case "request":
        return { text: text.text, params: [...this.#request(), role], use: "none" };
      case "all":
        return { text: text.text, params: [...this.#request(), role, searchPath], use: "none" };
      default:
        return text.says satisfies never;
    }
  }

  #request(): readonly string[] {
    const { claims, method, path, headers, cookies } = this.#settings;
    return [claims, method, path, JSON.stringify(headers), JSON.stringify(cookies)];
  }
}

/** A statement's text, and which parameters it has. */
interface FirstText {
  /** `place`: role and search path; `request`: what the request said, and the role; `all`: all of these. */
  readonly says: "place" | "request" | "all";
  readonly text: string;
}

const said =
  sql`set_config('request.jwt.claims', $1, true), set_config('request.method', $2, true), set_config('request.path', $3, true), set_config('request.headers', $4, true), set_config('request.cookies', $5, true)`;

/** How long role and search path are taken for. */
const stays = { enter: sql`false`, borrow: sql`true` } as const;

function takingPlace(mode: "enter" | "borrow"): FirstText {
  const stay = stays[mode];
  return {
    says: "place",
    text: textOf(
      sql`select set_config('search_path', $2, ${stay})${modes.reading}, set_config('role', $1, ${stay})`,
    ),
  };
}

function taking(mode: "enter" | "borrow"): FirstText {
  const stay = stays[mode];
  return {
    says: "all",
    text: textOf(
      sql`select set_config('search_path', $7, ${stay})${modes.writing}, set_config('role', $6, ${stay}), ${said}`,
    ),
  };
}

const check: FirstText = {
  says: "request",
  text: textOf(sql`select 1 / (current_user = $6)::int, ${said}`),
};

function textOf(fragment: Sql): string {
  return compile(fragment).text;
}

const texts: Readonly<Record<Purpose, Readonly<Record<FootingMode, FirstText | null>>>> = {
  reading: { enter: takingPlace("enter"), borrow: takingPlace("borrow"), check: null },
  writing: { enter: taking("enter"), borrow: taking("borrow"), check },
};
