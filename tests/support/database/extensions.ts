/** Extensions that tests need, and what is missing where they are not installed. @module */
import type { Extension, Extensions } from "@electric-sql/pglite";
import { prepared, serverVariable } from "../runner/environment.ts";
import { withClient } from "./postgres_client.ts";

/** Returns why a test on the server cannot run; null if it has all of the extensions. */
export async function missingOnServer(...names: readonly string[]): Promise<string | null> {
  const installed = await withClient(prepared(serverVariable), async (client) => {
    const { rows } = await client.query("select name from pg_available_extensions");
    return new Set(rows.map((row) => row["name"]));
  });
  const missing = names.filter((name) => !installed.has(name));
  return missing.length === 0 ? null : `skipped: the server has no ${missing.join(", ")}`;
}

/** The package with pgvector for PGlite. It is not in `deno.json`, which names what the service needs. */
const vectorPackage = "npm:@electric-sql/pglite-pgvector@0.0.15";

/** Returns pgvector for PGlite; the first use downloads it. */
export async function pgliteVector(): Promise<Extensions> {
  const code = `const { vector } = await import("${vectorPackage}");
    console.log((await vector.setup(null, {})).bundlePath.href)`;
  const command = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--quiet", "--no-lock", code],
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  if (!success) throw new Error(`no ${vectorPackage}`);
  const bundlePath = new URL(new TextDecoder().decode(stdout).trim());
  const setup: Extension["setup"] = (_, emscriptenOpts) =>
    Promise.resolve({ emscriptenOpts, bundlePath });
  return { vector: { name: "vector", setup } };
}
