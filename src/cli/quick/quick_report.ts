/** Reports the start in quick mode: by a banner on a terminal, else by the usual lines. @module */
import { isatty } from "node:tty";
import type { Database } from "../../database/database.ts";
import { svcDialect } from "../../dialect.ts";
import type { Observation, ReportedError } from "../../observe/observation.ts";
import { connectAdvice } from "../connect_error.ts";
import { printError } from "../output.ts";
import { stderr } from "../standard_streams.ts";
import type { QuickStart } from "../start.ts";
import { bannerText, originOf } from "./banner.ts";
import { readExample } from "./quick_facts.ts";

/** Events of a start without problems, which the banner replaces. */
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

/** Inputs of {@linkcode quickObserver} besides the observer. */
export interface QuickReportOptions {
  readonly quick: QuickStart;
  readonly database: Database;
  /** Receives the console's origin when both servers listen. */
  readonly onReady: (consoleOrigin: string | null) => void;
}

/**
 * Wraps an observer. On a terminal, a banner replaces the events of the start. Elsewhere the warnings
 * precede them, one line each.
 */
export function quickObserver(observe: Observe, options: QuickReportOptions): Observe {
  const { quick, onReady } = options;
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
      const example = await exampleOf(options);
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

/**
 * Wraps an observer. Calls `onReady` with the origin of the console when the API listens. On a
 * terminal, it writes the next step after the first connection that fails.
 */
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

/** Writes the next step after a failed connection, for a person at a terminal. */
function printAdvice({ message, details }: ReportedError): void {
  const advice = connectAdvice(`${message} ${details}`);
  if (advice !== null) printError(`${svcDialect.productToken}: ${advice}`);
}

async function exampleOf({ quick, database }: QuickReportOptions): Promise<string | null> {
  const { schemas, anonRole } = quick.choice;
  try {
    return await readExample(database, { schema: schemas[0] ?? "", role: anonRole });
  } catch {
    return null;
  }
}
