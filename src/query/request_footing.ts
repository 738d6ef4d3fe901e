/**
 * What a quiet transaction starts with, one in which no code of the database's own runs: role and search
 * path, which a session keeps from one to the next, and what the request said where defaults may read it.
 *
 * @module
 */
import type { Statement } from "../database/database.ts";
import type { Footing, FootingMode } from "../database/footing.ts";
import { compile, join, param, type Sql, sql } from "../sql/fragment.ts";
import {
  blanks,
  modes,
  requestParams,
  saying,
  setting,
  type SettingsExtent,
  type TransactionSettings,
} from "./settings.ts";

/**
 * What a quiet transaction is for. Nothing runs in it that would read what the request said when it
 * reads, or that could say anything of the response.
 */
export type Purpose = Extract<SettingsExtent, "reading" | "writing">;

/**
 * The footing of a request's transaction; null where there are settings that are applied before the
 * role is taken, or some of the request's own.
 */
export function requestFooting(purpose: Purpose, settings: TransactionSettings): Footing | null {
  const { role, roleSettings, timezone, later } = settings;
  // Settings that only code looks at tell a quiet reading nothing.
  const isPlain = roleSettings.length === 0 && timezone === null &&
    (purpose === "reading" || later.length === 0);
  return isPlain && isRoleName(role) ? new RequestFooting(purpose, settings) : null;
}

/** Whether a role of the name is called just that: there is none called `none`, and long ones are cut. */
function isRoleName(name: string): boolean {
  return name !== "none" &&
    (name.length < longestName / 3 || utf8.encode(name).length < longestName);
}

const utf8 = new TextEncoder();
/** PostgreSQL's `NAMEDATALEN`. */
const longestName = 64;

class RequestFooting implements Footing {
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

  first(mode: FootingMode, isHurried = false): Statement | null {
    const kind = isHurried && this.#purpose === "writing" ? "hurrying" : this.#purpose;
    const text = texts[kind][mode];
    return text === null ? null : { text, params: this.#params, use: "none" };
  }

  get #params(): readonly string[] {
    const { role, searchPath } = this;
    return this.#purpose === "reading"
      ? [searchPath, role]
      : [searchPath, role, ...requestParams(this.#settings)];
  }
}

function taking(mode: "enter" | "borrow", purpose: Purpose): readonly Sql[] {
  const stays = mode === "enter";
  return [
    setting("search_path", param(""), stays),
    ...modes[purpose],
    setting("role", param(""), stays),
  ];
}

function takingAndSaying(mode: "enter" | "borrow"): readonly Sql[] {
  return [...taking(mode, "writing"), ...saying(blanks)];
}

/** What was sent before it may have failed, and have taken back both. */
const check = [
  sql`1 / (current_setting('search_path') = ${param("")} and current_user = ${param("")})::int`,
  ...saying(blanks),
];

/** So many milliseconds a write waits for a lock that holds up others. */
const hurry = setting("lock_timeout", sql`'20'`);

function textOf(columns: readonly Sql[]): string {
  return compile(sql`select ${join(columns)}`).text;
}

const texts: Readonly<
  Record<Purpose | "hurrying", Readonly<Record<FootingMode, string | null>>>
> = {
  reading: {
    enter: textOf(taking("enter", "reading")),
    borrow: textOf(taking("borrow", "reading")),
    check: null,
  },
  writing: {
    enter: textOf(takingAndSaying("enter")),
    borrow: textOf(takingAndSaying("borrow")),
    check: textOf(check),
  },
  hurrying: {
    enter: textOf([...takingAndSaying("enter"), hurry]),
    borrow: textOf([...takingAndSaying("borrow"), hurry]),
    check: textOf([...check, hurry]),
  },
};
