/** A process's tenants inside a test: files in a folder, over databases of the test server. @module
 */
import { configReader } from "../../../src/state/config/config_files.ts";
import type { RequestInfo } from "../../../src/api/handler/handler.ts";
import type { Observation } from "../../../src/base/observe/observation.ts";
import { Tenants } from "../../../src/wings/tenants/tenants.ts";
import { engines } from "../database/engines.ts";
import type { Fixture } from "../database/fixture.ts";
import { mcpWing } from "../../../src/wings/mcp/mcp_host.ts";
import { liveWing } from "../../../src/wings/live/live_host.ts";
import { wingOptions } from "../../../src/process/wings.ts";

/** Options of the process and of its tenants, by the names of their keys. */
export type Keys = Readonly<Record<string, string | number | boolean>>;

const fixture: Fixture = { name: "tenants", roles: ["anon", "writer"] };

/** Databases that several tests use, by the names of their tenants. */
export interface TenantDatabases extends AsyncDisposable {
  readonly uris: ReadonlyMap<string, string>;
  readonly superuserUris: ReadonlyMap<string, string>;
}

/** Makes a database for each name. */
export async function tenantDatabases(names: readonly string[]): Promise<TenantDatabases> {
  await using resources = new AsyncDisposableStack();
  const uris = new Map<string, string>();
  const superuserUris = new Map<string, string>();
  for (const name of names) {
    const database = await engines.pg(fixture);
    resources.defer(() => database.remove());
    uris.set(name, database.uri);
    superuserUris.set(name, database.superuserUri ?? "");
  }
  const made = resources.move();
  return { uris, superuserUris, [Symbol.asyncDispose]: () => made.disposeAsync() };
}

/** Tenants of a folder that a test can change. */
export interface OpenTenants extends AsyncDisposable {
  readonly tenants: Tenants;
  readonly folder: string;
  readonly events: readonly Observation[];
  /** Writes the file of a tenant. */
  write(name: string, keys: Keys): Promise<void>;
  remove(name: string): Promise<void>;
  /** Sends `GET <url>`, or `<method> <url>`. */
  send(line: string, init?: RequestInit & { readonly info?: RequestInfo }): Promise<Response>;
}

/** Opens tenants; `files` are the options of each. */
export async function openTenants(
  options: Keys,
  files: Readonly<Record<string, Keys>>,
): Promise<OpenTenants> {
  const folder = await Deno.makeTempDir({ prefix: "svc_tenants_" });
  await using resources = new AsyncDisposableStack();
  resources.defer(() => Deno.remove(folder, { recursive: true }));
  const write = (name: string, keys: Keys) =>
    Deno.writeTextFile(`${folder}/${name}.conf`, configOf(keys));
  for (const [name, keys] of Object.entries(files)) await write(name, keys);
  const file = `${folder}/svc.cfg`;
  await Deno.writeTextFile(
    file,
    configOf({ tenants: "./", "db-channel-enabled": false, ...options }),
  );
  const events: Observation[] = [];
  const reader = configReader({ file, flags: new Map() }, { wingOptions });
  const tenants = await Tenants.open({
    reader,
    wings: [mcpWing(), liveWing],
    observe: (event) => void events.push(event),
  });
  resources.defer(() => tenants.close());
  const opened = resources.move();
  return {
    tenants,
    folder,
    events,
    write,
    remove: (name) => Deno.remove(`${folder}/${name}.conf`),
    send: (line, { info = {}, ...init } = {}) => {
      const [method = "", url = ""] = line.split(" ");
      return tenants.handle(new Request(url, { ...init, method }), {
        client: "192.0.2.7",
        ...info,
      });
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function configOf(keys: Keys): string {
  return Object.entries(keys)
    .map(([key, value]) => `${key} = ${JSON.stringify(value).replaceAll("$", "$$$$")}\n`)
    .join("");
}
