/** Options of a process with several tenants. @module */
import type { Config, OptionValues } from "../../state/config/options.ts";
import { integer, oneOf, text } from "../../state/config/codecs.ts";
import { option } from "../../state/config/options/option.ts";

export const tenantOptions = {
  "tenants": option({
    codec: text({
      type: "folder",
      expected: 'a folder with a slash, such as "./tenants"',
      check: (path) => path.includes("/") && !path.includes("\0"),
    }),
    default: null,
    doc: "Serves many databases: a folder with a file `<name>.conf` per tenant; see " +
      "[Serve many databases](../how-to/serve-many-databases.md).",
    example: '"./tenants"',
    replacesRequired: true,
    reloadable: false,
  }),
  "tenant-by": option({
    codec: oneOf(["host", "path"], "tenant-by: others need createTenantHandler"),
    default: "host",
    doc: "Where a request names its tenant: `host` or `path`.",
    example: '"path"',
    reloadable: false,
  }),
  "tenant-claim": option({
    codec: text({
      type: "JSONPath",
      expected: 'a JSONPath in quotes, such as "$$.tenant"',
      check: (path) => path.startsWith("$"),
    }),
    default: null,
    doc: "Claim of tokens that must be the name of the tenant; set it if tenants accept tokens " +
      "of one secret, key URL or issuer.",
    example: '"$$.tenant"',
    reloadable: false,
  }),
  "tenant-host-pattern": option({
    codec: text({
      type: "host name",
      expected: 'a host name in quotes with {tenant} once, such as "{tenant}.api.example.com"',
      check: isHostPattern,
    }),
    default: null,
    doc: "Host name of a tenant, in which `{tenant}` marks the tenant's name.",
    example: '"{tenant}.api.example.com"',
    reloadable: false,
  }),
  "tenant-max-requests": option({
    codec: integer({ min: 1 }),
    default: 50,
    doc: "Requests of one tenant in progress; further ones fail with SVC135.",
    reloadable: false,
  }),
  "tenants-db-pool": option({
    codec: integer({ min: 2, max: 262_143 }),
    default: 100,
    doc: "Maximum number of connections in the pools of all tenants, of which each of " +
      "`tenants-max-loaded` has an equal share of at least two.",
    reloadable: false,
  }),
  "tenants-max-loaded": option({
    codec: integer({ min: 1 }),
    default: 20,
    doc: "Tenants that are loaded at a time; the least recently used one makes room.",
    reloadable: false,
  }),
} as const;

/** The configuration with the options of this wing. */
export type TenantConfig = Config & OptionValues<typeof tenantOptions>;

/** Returns whether a text is a lower-case host name in which one `{tenant}` is a label, or the start
 * or end of a label. Other patterns could give two tenants the same host. */
function isHostPattern(text: string): boolean {
  const parts = text.split("{tenant}");
  return parts.length === 2 && /^[a-z0-9._-]*$/.test(parts.join("")) &&
    /^(?:[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?)$/.test(parts.join("t")) && !text.includes("..");
}

/** Returns whether a process serves tenants. */
export function hasTenants(config: object): boolean {
  return (config as TenantConfig).tenants !== null;
}
