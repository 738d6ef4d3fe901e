/**
 * The warning for filters, orders and limits that name an embed's target instead of its alias. @module
 */
import type { Dialect } from "../dialect.ts";
import type { HeaderList } from "../lib/header_list.ts";
import { version } from "../version.ts";
import { headerValue } from "./http_text.ts";

/**
 * The target and the alias of an embed. A filter, an order or a limit names the target.
 */
export type TargetNameUse = readonly [target: string, alias: string];

/** Text of the `Warning` header and of the log line. */
export const targetNameWarning =
  "Embedded resource was referenced by relation name even though it has an alias. " +
  "This is deprecated and will stop working in a future release.";

/** Lists the replacements: `` `films` to `all_films`, `awards` to `best` ``. */
export function replacementsText(uses: readonly TargetNameUse[]): string {
  return uses.map(([target, alias]) => `\`${target}\` to \`${alias}\``).join(", ");
}

/** Returns the `Warning` header (RFC 7234, section 5.5). Omits it if a header cannot contain the names. */
export function targetNameHeaders(
  uses: readonly TargetNameUse[],
  { displayName }: Pick<Dialect, "displayName">,
): HeaderList {
  if (uses.length === 0) return [];
  const text = `${targetNameWarning} Update ${replacementsText(uses)} in query string filters, ` +
    "orders or limits.";
  const quoted = text.replaceAll(/["\\]/g, "\\$&");
  const value = headerValue(`299 ${displayName}v${version} "${quoted}"`);
  return value === null ? [] : [["Warning", value]];
}
