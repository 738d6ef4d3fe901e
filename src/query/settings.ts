/**
 * The statement that makes a transaction the request's: search path, role, claims and what the
 * request said, all local to the transaction.
 *
 * @module
 */
import type { Statement } from "../database/database.ts";
import {
  compile,
  join,
  literal,
  param,
  type ParamValue,
  quoteIdent,
  type Sql,
  sql,
} from "../sql/fragment.ts";

/** A setting's name and value. */
export type Setting = readonly [name: string, value: string];

/** What a transaction is told. */
export interface TransactionSettings {
  /** What {@linkcode searchPathOf} gave. */
  readonly searchPath: string;
  readonly role: string;
  /** Settings of the role, applied before the role is taken. */
  readonly roleSettings: readonly Setting[];
  /** JSON text. */
  readonly claims: string;
  readonly method: string;
  readonly path: string;
  /** Told as JSON. */
  readonly headers: Readonly<Record<string, string>>;
  /** Told as JSON. */
  readonly cookies: Readonly<Record<string, string>>;
  readonly timezone: string | null;
  /** Settings that override those of the role: of the function that is called, `app.settings.*`. */
  readonly later: readonly Setting[];
}

/**
 * What a transaction is told beside, as neither its BEGIN nor its connection did. `block` has a BEGIN, on
 * any connection; the others are on connections that were set up: `chained` has a BEGIN, `reading` and
 * `writing` have none.
 */
export type SettingsExtent = "block" | "chained" | "reading" | "writing";

/** Texts by the schemas that follow the first one, and by that. */
const searchPaths = new WeakMap<readonly string[], Map<string, string>>();

/** A schema and those after it in search order, as the text of `search_path`. */
export function searchPathOf(schema: string, others: readonly string[]): string {
  let texts = searchPaths.get(others);
  if (texts === undefined) searchPaths.set(others, texts = new Map());
  let text = texts.get(schema);
  if (text === undefined) texts.set(schema, text = [schema, ...others].map(quoteIdent).join(", "));
  return text;
}

/** One `select set_config(…), …`. Settings of one shape give one text. */
export function settingsStatement(
  settings: TransactionSettings,
  extent: SettingsExtent,
): Statement {
  if (isPlain(settings)) {
    return { text: plainTexts[extent], params: plainParams(settings), use: "none" };
  }
  const { roleSettings, timezone, later } = settings;
  const all = columns(extent, plainParams(settings), {
    beforeRole: named(roleSettings),
    after: [...named(timezone === null ? [] : [["timezone", timezone]]), ...named(later)],
  });
  return { ...compile(sql`select ${join(all)}`), use: "none" };
}

/** The same settings for a transaction with a BEGIN on a connection that was set up. */
export function settingsInBlock(settings: TransactionSettings, { params }: Statement): Statement {
  return isPlain(settings)
    ? { text: plainTexts.chained, params, use: "none" }
    : settingsStatement(settings, "chained");
}

function isPlain({ roleSettings, timezone, later }: TransactionSettings): boolean {
  return roleSettings.length === 0 && later.length === 0 && timezone === null;
}

/**
 * Sets each claim whose name can be one of a setting as `request.jwt.claim.<name>`. Its text does not
 * depend on the claims.
 */
export function claimSettings(claims: string): Statement {
  const fragment = sql`select ${setConfig}('request.jwt.claim.' || key, value, true)
from json_each_text(${param(claims)}::json)
where key ~ '^[A-Za-z_][A-Za-z0-9_$]{0,62}$'`;
  return { ...compile(fragment), use: "none" };
}

/** Code may have left a search path on the connection that leads to other functions of the name. */
const setConfig = sql`pg_catalog.set_config`;

/** Sets something, for the transaction unless it is to stay. */
export function setting(name: string, value: Sql, stays = false): Sql {
  return sql`${setConfig}(${literal(name)}, ${value}, ${stays ? sql`false` : sql`true`})`;
}

/** Fewer statements are prepared when a setting's name is a parameter, too. */
function named(settings: readonly Setting[]): readonly Sql[] {
  return settings.map(([name, value]) => sql`${setConfig}(${param(name)}, ${param(value)}, true)`);
}

/** Settings for what the request said, as {@linkcode requestParams} gives it. */
export function saying(said: readonly ParamValue[]): readonly Sql[] {
  return said.map((value, index) => setting(`request.${saidNames[index]!}`, param(value)));
}

const saidNames = ["jwt.claims", "method", "path", "headers", "cookies"] as const;

/** What the request said. */
export function requestParams(settings: TransactionSettings): readonly string[] {
  const { claims, method, path, headers, cookies } = settings;
  return [claims, method, path, JSON.stringify(headers), JSON.stringify(cookies)];
}

/** In the place of what a request says, in texts whose parameters come later. */
export const blanks = ["", "", "", "", ""] as const;

/** What a function may have left on the connection is gone. */
const clean = ["response.headers", "response.status"].map((name) => setting(name, sql`''`));

/** Fails unless the transaction is of that level from its beginning, whose default a function may change. */
const committed = setting("transaction_isolation", sql`'read committed'`);

/** What a transaction without BEGIN is told beside, by what it is for. */
export const modes = {
  reading: [committed, setting("transaction_read_only", sql`'on'`)],
  // Fails, too, unless the transaction may write from its beginning, which it never may on a standby.
  writing: [
    committed,
    setting("transaction_read_only", sql`pg_catalog.pg_is_in_recovery()::pg_catalog.text`),
  ],
} as const;

/**
 * Statements as short as these are run rather than compiled to machine code, unless the role or the
 * function wants it so.
 */
const cleaning: Readonly<Record<SettingsExtent, readonly Sql[]>> = {
  block: [...clean, setting("jit", sql`'off'`)],
  chained: clean,
  reading: [...clean, ...modes.reading],
  writing: [...clean, ...modes.writing],
};

function plainParams(settings: TransactionSettings): readonly ParamValue[] {
  return [settings.searchPath, settings.role, ...requestParams(settings)];
}

function plainText(extent: SettingsExtent): string {
  const all = columns(extent, ["", "", ...blanks], { beforeRole: [], after: [] });
  return compile(sql`select ${join(all)}`).text;
}

/** All that is set, in order: what {@linkcode plainParams} gives, and what some requests have beside. */
function columns(
  extent: SettingsExtent,
  [searchPath, role, ...said]: readonly ParamValue[],
  { beforeRole, after }: { readonly beforeRole: readonly Sql[]; readonly after: readonly Sql[] },
): readonly Sql[] {
  return [
    setting("search_path", param(searchPath!)),
    ...cleaning[extent],
    ...beforeRole,
    setting("role", param(role!)),
    ...saying(said),
    ...after,
  ];
}

const plainTexts: Readonly<Record<SettingsExtent, string>> = {
  block: plainText("block"),
  chained: plainText("chained"),
  reading: plainText("reading"),
  writing: plainText("writing"),
};
