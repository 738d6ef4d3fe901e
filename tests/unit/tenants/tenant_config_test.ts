import { match, strictEqual, throws } from "node:assert/strict";
import { noValues } from "../../../src/config/load.ts";
import type { Config } from "../../../src/config/options.ts";
import { configSource } from "../../../src/config/source.ts";
import { tenantConfigSource } from "../../../src/tenants/tenant_config.ts";

const processConfig: Config = configSource({
  file: { path: "svc.conf", text: 'db-uri = "postgres://h/control"\ndb-schemas = "api"\n' },
  environment: {},
  readFile: () => new Uint8Array(),
}).configure(noValues);

function configure(text: string, { isFile }: { readonly isFile: boolean }): Config {
  const file = { path: "acme", text };
  return tenantConfigSource("acme", { file, isFile, version: "" }, processConfig)
    .configure(noValues);
}

for (const key of ["db-password-file", "db-embedded-init"]) {
  Deno.test(`tenantConfigSource() takes ${key} from a file only`, () => {
    const text = `${key} = "/etc/hostname"\n`;
    strictEqual(configure(text, { isFile: true }).dbUri, "postgres://h/control");
    throws(() => configure(text, { isFile: false }), ({ message }: Error) => {
      match(message, new RegExp(`acme:1: ${key}: names a file, which only a tenant's file may do`));
      return true;
    });
  });
}
