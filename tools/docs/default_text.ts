/** Defaults of options in Markdown. @module */
import { quote } from "../../src/state/config/codecs.ts";
import {
  isSameAs,
  ofDialect,
  type Option,
  required,
} from "../../src/state/config/options/option.ts";
import { svcDialect } from "../../src/base/dialect.ts";

/** Returns an option's default in Markdown. */
export function defaultText(key: string, { codec, default: fallback }: Option<unknown>): string {
  if (fallback === null) return "none";
  if (fallback === ofDialect) return code(quote(svcDialect.defaults[key] ?? ""));
  if (fallback === required) return "required";
  if (isSameAs(fallback)) return `that of ${code(fallback.sameAs)}`;
  return code(codec.print(fallback, { secretIsBase64: false }));
}

function code(source: string): string {
  return `\`${source}\``;
}
