/**
 * Codecs of the options that find tenants.
 *
 * @module
 */
import { isHeaderName } from "./checks.ts";
import { accept, type Codec, quote, reject } from "./codecs.ts";

/** Where tenants and their configurations are. */
export type TenantSourceName =
  | { readonly kind: "folder"; readonly path: string }
  /** A relation or a function of the control database. */
  | { readonly kind: "relation"; readonly schema: string; readonly name: string };

/** Where a request names its tenant. */
export type TenantBy =
  | { readonly kind: "host" }
  | { readonly kind: "path" }
  /** `name` is in lower case. */
  | { readonly kind: "header"; readonly name: string }
  /** `path` is a JSONPath. */
  | { readonly kind: "claim"; readonly path: string };

/** The codec of a folder, which has a slash, or of `schema.name`. */
export const tenantSource: Codec<TenantSourceName> = {
  type: "folder or relation",
  empty: "unset",
  read(raw) {
    const facts = {
      expected:
        'a folder with a slash, such as "./tenants", or a relation, such as "control.tenants"',
    };
    if (typeof raw !== "string" || raw.includes("\0")) return reject(raw, facts);
    if (raw.includes("/")) return accept({ kind: "folder", path: raw });
    const found = /^([^.]+)\.([^.]+)$/.exec(raw);
    if (found === null) return reject(raw, facts);
    return accept({ kind: "relation", schema: found[1]!, name: found[2]! });
  },
  print: (source) =>
    quote(source.kind === "folder" ? source.path : `${source.schema}.${source.name}`),
};

/** The codec of `host`, `path`, `header <name>` and `claim <JSONPath>`. */
export const tenantBy: Codec<TenantBy> = {
  type: "`host`, `path`, `header <name>` or `claim <JSONPath>`",
  empty: "unset",
  read(raw) {
    const [, kind, rest = ""] = typeof raw === "string" ? /^(\w+)(?: +(.+))?$/.exec(raw) ?? [] : [];
    if ((kind === "host" || kind === "path") && rest === "") return accept({ kind });
    if (kind === "header" && isHeaderName(rest)) return accept({ kind, name: rest.toLowerCase() });
    if (kind === "claim" && rest.startsWith("$")) return accept({ kind, path: rest });
    return reject(raw, { expected: '"host", "path", "header <name>" or "claim <JSONPath>"' });
  },
  print: (by) => quote(printBy(by)),
};

function printBy(by: TenantBy): string {
  switch (by.kind) {
    case "host":
    case "path":
      return by.kind;
    case "header":
      return `header ${by.name}`;
    case "claim":
      return `claim ${by.path}`;
    default:
      return by satisfies never;
  }
}

/**
 * Returns whether a text is a host name in lower case with one `{tenant}`, which stands for a part
 * between dots or for the beginning or the end of one. Without it, two tenants would have one host.
 */
export function isHostPattern(text: string): boolean {
  const parts = text.split("{tenant}");
  return parts.length === 2 && /^[a-z0-9._-]*$/.test(parts.join("")) &&
    /^(?:[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?)$/.test(parts.join("t")) && !text.includes("..");
}
