/** Reports the start in quick mode, by a banner on a terminal and otherwise by log lines. @module */
import { isatty } from "node:tty";
import type { Database } from "../../../database/database.ts";
import { svcDialect } from "../../../base/dialect.ts";
import { counted } from "../../../base/lib/printable.ts";
import type { Observation } from "../../../base/observe/observation.ts";
import type { ReportedError } from "../../../base/observe/diagnostic_row.ts";
import { connectAdvice } from "../../../base/errors/connect_error.ts";
import { printError } from "../../../base/observe/output.ts";
import { stderr } from "../../../base/observe/standard_streams.ts";
import { version } from "../../../base/version.ts";
import type { QuickStart } from "./quick_defaults.ts";
import { readExample } from "./quick_server.ts";

/** Events of a normal start, which the banner replaces. */
const startKinds: ReadonlySet<Observation["kind"]> = new Set([
  "starting",
  "listening",
  "connected",
  "connections-encrypted",
  "pool-ready",
  "schema-cache-queried",
  "schema-cache-loaded",
  "listener-connected",
  "config-reloaded",
  "embedded-starting",
  "embedded-ready",
]);

type Observe = (event: Observation) => void;

export interface QuickReportOptions {
  readonly quick: QuickStart;
  readonly database: Database;
  /** Called with the console's origin when both servers listen. */
  readonly onReady: (consoleOrigin: string | null) => void;
}

/** Wraps an observer. On a terminal, a banner replaces the events of the start. Elsewhere, one line for
 * each warning precedes these events. */
export function quickObserver(
  observe: Observe,
  { quick, database, onReady }: QuickReportOptions,
): Observe {
  const hasTerminal = isatty(stderr);
  const addresses = new Map<"api" | "admin", string>();
  let loaded: Extract<Observation, { readonly kind: "schema-cache-loaded" }> | null = null;
  let isStarting = true;
  if (!hasTerminal) {
    for (const warning of quick.choice.warnings) {
      printError(`${svcDialect.productToken}: warning: ${warning}`);
    }
  }
  const finish = async () => {
    const api = addresses.get("api")!;
    const admin = addresses.get("admin") ?? null;
    if (hasTerminal) {
      const { relations = 0, functions = 0 } = loaded?.counts ?? {};
      const { schemas, anonRole: role } = quick.choice;
      const example = await readExample(database, { schema: schemas[0] ?? "", role })
        .catch(() => null);
      printError(bannerText({ ...quick, api, admin, relations, functions, example }));
    }
    isStarting = false;
    onReady(admin === null ? null : originOf(admin));
  };
  return (event) => {
    if (event.kind === "schema-cache-loaded") loaded = event;
    if (!hasTerminal || !isStarting || !startKinds.has(event.kind)) observe(event);
    if (event.kind !== "listening" || !isStarting) return;
    addresses.set(event.what, event.address);
    if (event.what === "api") void finish();
  };
}

/** Wraps an observer. Calls `onReady` with the origin of the console when the API listens. On a
 * terminal, also writes advice after the first failed connection. */
export function readyObserver(
  observe: Observe,
  onReady: QuickReportOptions["onReady"],
): Observe {
  let admin: string | null = null;
  let isAdvised = !isatty(stderr);
  return (event) => {
    observe(event);
    if (!isAdvised && (event.kind === "version-failed" || event.kind === "connect-failed")) {
      isAdvised = true;
      printAdvice(event.error);
    }
    if (event.kind !== "listening") return;
    if (event.what === "admin") admin = originOf(event.address);
    else onReady(admin);
  };
}

/** Writes advice after a failed connection to a terminal. */
function printAdvice({ message, details }: ReportedError): void {
  const advice = connectAdvice(`${message} ${details}`);
  if (advice !== null) printError(`${svcDialect.productToken}: ${advice}`);
}

/** The contents of the banner. */
export interface Banner extends QuickStart {
  /** Addresses with ports, as bound by the servers; `admin` may be null. */
  readonly api: string;
  readonly admin: string | null;
  readonly relations: number;
  readonly functions: number;
  /** A relation that requests without a token may read, or null. */
  readonly example: string | null;
}

export function bannerText(
  { server, choice, isReadOnly, api, admin, relations, functions, example }: Banner,
): string {
  const origin = originOf(api);
  const page = admin === null ? "" : `   console ${originOf(admin)}`;
  const schemas = `${choice.schemas.length === 1 ? "schema" : "schemas"} ${
    choice.schemas.join(", ")
  }`;
  const lines = [
    `${svcDialect.productToken} ${version}  →  ${origin}${page}`,
    `${server.database} on PostgreSQL ${server.version} as ${JSON.stringify(server.user)}, ` +
    `${schemas}: ${counted(relations, "relation")}, ${counted(functions, "function")}`,
    // The role is not repeated if requests run as the login role, because a warning contains it.
    ...(choice.isLoginRole
      ? []
      : [`Requests without a token run as ${JSON.stringify(choice.anonRole)}`]),
    ...choice.warnings.map((warning) => `! ${warning}`),
    ...(server.isStandby ? ["! The server is a standby: requests can only read."] : []),
    ...(server.isReadOnly ? [`! ${readOnlyWarning(isReadOnly)}`] : []),
    ...(example === null ? [] : [`Try:  curl '${origin}/${encodeURIComponent(example)}?limit=3'`]),
  ];
  return lines.join("\n");
}

/** Returns the warning for a database with `default_transaction_read_only`. The service turns this
 * setting off, so that only `db-read-only` forbids writes. */
function readOnlyWarning(isReadOnly: boolean): string {
  return "default_transaction_read_only is on for this login: " +
    (isReadOnly
      ? "requests can only read here. A service with a file needs db-read-only = true for that."
      : "requests can write, because db-read-only is false.");
}

/** Returns the origin of an address. A wildcard address becomes a loopback address. */
function originOf(address: string): string {
  return `http://${address.replace(/^0\.0\.0\.0:/, "127.0.0.1:").replace(/^\[::\]:/, "[::1]:")}`;
}
