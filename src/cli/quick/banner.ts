/**
 * The banner that quick mode writes to a terminal in place of the lines of the start.
 *
 * @module
 */
import { svcDialect } from "../../dialect.ts";
import { version } from "../../version.ts";
import { count, type QuickChoice } from "./quick_defaults.ts";
import type { QuickFacts } from "./quick_facts.ts";

/** The contents of the banner. */
export interface BannerFacts {
  readonly facts: QuickFacts;
  readonly choice: QuickChoice;
  /** Whether quick mode chose another port than 3000, because of other servers. */
  readonly hasMoved: boolean;
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
  { facts, choice, hasMoved, api, admin, relations, functions, example }: BannerFacts,
): string {
  const origin = originOf(api);
  const page = admin === null ? "" : `   console ${originOf(admin)}`;
  const schemas = `${choice.schemas.length === 1 ? "schema" : "schemas"} ${
    choice.schemas.join(", ")
  }`;
  const lines = [
    `${svcDialect.productToken} ${version}  →  ${origin}${page}`,
    `${facts.database} on PostgreSQL ${facts.version} as ${JSON.stringify(facts.user)}, ` +
    `${schemas}: ${count(relations, "relation")}, ${count(functions, "function")}`,
    // A warning says so of the login role.
    ...(choice.isLoginRole
      ? []
      : [`Requests without a token run as ${JSON.stringify(choice.anonRole)}`]),
    ...(hasMoved ? ["Port 3000 or 3001 is in use: these are the next free ones"] : []),
    ...choice.warnings.map((warning) => `! ${warning}`),
    ...(facts.isStandby ? ["! The server is a standby: requests can only read."] : []),
    ...(facts.isReadOnly
      ? ["! The database is read only (default_transaction_read_only): requests can only read."]
      : []),
    ...(example === null ? [] : [`Try:  curl '${origin}/${encodeURIComponent(example)}?limit=3'`]),
  ];
  return lines.join("\n");
}

/** Returns the origin of an address; a wildcard address becomes a loopback address. */
export function originOf(address: string): string {
  return `http://${address.replace(/^0\.0\.0\.0:/, "127.0.0.1:").replace(/^\[::\]:/, "[::1]:")}`;
}
