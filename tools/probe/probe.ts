/**
 * Shows which parts of PostgreSQL a server has, and tries the requests of the example todo list on it:
 * `deno task probe <uri> [--yes]`.
 *
 * The exit status is 0 if nothing that svc needs is missing and all requests pass, 1 if not, and 2 for wrong
 * arguments and servers that cannot be reached.
 *
 * @module
 */
import { isEmbedded } from "../../src/database/open.ts";
import { ServiceError } from "../../src/errors/service_error.ts";
import { redact } from "../../src/observe/redact.ts";
import { capabilityRows } from "./capability_rows.ts";
import { type ExampleReport, tryExample } from "./example.ts";

const usage = `Usage: deno task probe <uri> [--yes]

<uri>   connection string of a server, or pglite://memory
--yes   makes the schemas svc_probe_api and svc_probe_app and the roles svc_probe_anon and
        svc_probe_user, tries requests, and drops them; without it, the program asks`;

const [uri, ...flags] = Deno.args.filter((argument) => argument !== "--");
Deno.exit(await main(uri, flags));

/** Returns the exit status. */
async function main(uri: string | undefined, flags: readonly string[]): Promise<number> {
  if (uri === "--help") {
    console.log(usage);
    return 0;
  }
  if (uri === undefined || uri.startsWith("-") || flags.some((flag) => flag !== "--yes")) {
    console.error(usage);
    return 2;
  }
  if (isEmbedded(uri) && uri !== "pglite://memory") {
    console.error(
      "An embedded database in a folder is not changed: probe pglite://memory instead.",
    );
    return 2;
  }
  try {
    const isUsable = await showCapabilities(uri);
    if (!isUsable) return 1;
    if (!isEmbedded(uri) && !isConfirmed(flags)) {
      console.log("\nNo requests were tried: they need --yes.");
      return 0;
    }
    return showRequests(await tryExample(uri)) ? 0 : 1;
  } catch (error) {
    showFailure(error);
    return 2;
  }
}

/** Prints the reason. An error of the service is one of the connection, so it comes with advice. */
function showFailure(error: unknown): void {
  if (error instanceof ServiceError) {
    const { details } = error.fields;
    console.error(redact(typeof details === "string" ? details : error.message));
    console.error("Check the host, the port, the user and the password, and that the server runs.");
  } else console.error(redact(error instanceof Error ? error.message : String(error)));
}

/** Prints the table of capabilities. Resolves with whether svc can work without those that are missing. */
async function showCapabilities(uri: string): Promise<boolean> {
  const { version, rows } = await capabilityRows(uri);
  console.log(`${redact(version)}\n`);
  for (const { name, state, note } of rows) {
    console.log(`${name.padEnd(21)}  ${state.padEnd(9)}  ${redact(note)}`.trimEnd());
  }
  const required = rows.filter(({ state }) => state === "REQUIRED");
  if (required.length === 0) return true;
  console.log(
    `\nsvc cannot work with this server: ${required.map(({ name }) => name).join(", ")}.`,
  );
  return false;
}

function isConfirmed(flags: readonly string[]): boolean {
  if (flags.includes("--yes")) return true;
  if (!Deno.stdin.isTerminal()) return false;
  return confirm("\nMake schemas and roles named svc_probe_…, try requests, and drop them?");
}

/** Prints the results. Returns whether all requests have passed. */
function showRequests({ results, missingParts }: ExampleReport): boolean {
  if (missingParts.length > 0) {
    console.log(
      `\nThe schema cache lacks these parts, which are empty: ${missingParts.join(", ")}.`,
    );
  }
  console.log("\nRequests of the example todo list:");
  for (const { line, problem } of results) {
    console.log(
      problem === null ? `passed  ${line}` : `FAILED  ${line}\n        ${redact(problem)}`,
    );
  }
  const passed = results.filter(({ problem }) => problem === null).length;
  console.log(`\n${passed} of ${results.length} requests passed.`);
  return passed === results.length;
}
