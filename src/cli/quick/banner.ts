/** The banner that quick mode writes to a terminal in place of the lines of the start. @module */
import { svcDialect } from "../../dialect.ts";
import { version } from "../../version.ts";
import { counted } from "../../lib/printable.ts";
import type { QuickChoice } from "./quick_defaults.ts";
import type { QuickFacts } from "./quick_facts.ts";

/** The contents of the banner. */
export interface BannerFacts {
  readonly facts: QuickFacts;
  readonly choice: QuickChoice;
  /** The value of `db-read-only`. */
  readonly isReadOnly: boolean;
  /** Addresses with ports, as the servers have bound them; `admin` is null without one. */
  readonly api: string;
  readonly admin: string | null;
  readonly relations: number;
  readonly functions: number;
  /** A relation that requests without a token may read, or null. */
  readonly example: string | null;
}

/** Returns the banner. */
export function bannerText(
  { facts, choice, isReadOnly, api, admin, relations, functions, example }: BannerFacts,
): string {
  const origin = originOf(api);
  const page = admin === null ? "" : `   console ${originOf(admin)}`;
  const schemas = `${choice.schemas.length === 1 ? "schema" : "schemas"} ${
    choice.schemas.join(", ")
  }`;
  const lines = [
    `${svcDialect.productToken} ${version}  →  ${origin}${page}`,
    `${facts.database} on PostgreSQL ${facts.version} as ${JSON.stringify(facts.user)}, ` +
    `${schemas}: ${counted(relations, "relation")}, ${counted(functions, "function")}`,
    // A warning says so of the login role.
    ...(choice.isLoginRole
      ? []
      : [`Requests without a token run as ${JSON.stringify(choice.anonRole)}`]),
    ...choice.warnings.map((warning) => `! ${warning}`),
    ...(facts.isStandby ? ["! The server is a standby: requests can only read."] : []),
    ...(facts.isReadOnly ? [`! ${readOnlyWarning(isReadOnly)}`] : []),
    ...(example === null ? [] : [`Try:  curl '${origin}/${encodeURIComponent(example)}?limit=3'`]),
  ];
  return lines.join("\n");
}

/** The service turns `default_transaction_read_only` off, so that only `db-read-only` forbids writes. */
function readOnlyWarning(isReadOnly: boolean): string {
  return "default_transaction_read_only is on for this login: " +
    (isReadOnly
      ? "requests can only read here. A service with a file needs db-read-only = true for that."
      : "requests can write, because db-read-only is false.");
}

/** Returns the origin of an address; a wildcard address becomes a loopback address. */
export function originOf(address: string): string {
  return `http://${address.replace(/^0\.0\.0\.0:/, "127.0.0.1:").replace(/^\[::\]:/, "[::1]:")}`;
}
