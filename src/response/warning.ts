/** The `Warning` header (RFC 7234 section 5.5) of requests in a deprecated form. @module */
import type { HeaderList } from "../lib/header_list.ts";
import type { Dialect } from "../dialect.ts";
import { headerValue } from "../errors/http_text.ts";
import {
  replacementsText,
  type TargetNameUse,
  targetNameWarning,
} from "../errors/target_name_warning.ts";
import { version } from "../version.ts";

/** Returns the header; none without uses, or for names that a header cannot contain. */
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
