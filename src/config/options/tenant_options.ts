/**
 * Options of processes that serve several tenants.
 *
 * @module
 */
import { integer, text } from "../codecs.ts";
import { isHostPattern, tenantBy, tenantSource } from "../tenant_codecs.ts";
import { time } from "../units.ts";
import { option } from "./option.ts";

export const tenantOptions = {
  "tenants": option({
    codec: tenantSource,
    default: null,
    reloadable: false,
    inDatabase: false,
    doc:
      "Serves many databases: a folder with a file `<name>.conf` per tenant, or a relation or function " +
      "of the database of `db-uri`; see [Serve many databases](../how-to/serve-many-databases.md).",
    example: '"./tenants"',
    extension: true,
  }),
  "tenant-by": option({
    codec: tenantBy,
    default: { kind: "host" },
    reloadable: false,
    inDatabase: false,
    doc:
      "Where a request names its tenant: `host`, `path`, `header <name>`, or `claim <JSONPath>` of its " +
      "token.",
    example: '"path"',
    extension: true,
  }),
  "tenant-claim": option({
    codec: text({
      type: "JSONPath",
      expected: 'a JSONPath in quotes, such as "$$.tenant"',
      check: (path) => path.startsWith("$"),
    }),
    default: null,
    reloadable: false,
    inDatabase: false,
    doc:
      "Claim of tokens that must be the name of the tenant; required if two tenants accept tokens of " +
      "one secret, key URL or issuer.",
    example: '"$$.tenant"',
    extension: true,
  }),
  "tenant-db-pool": option({
    codec: integer({ min: 1, max: 262_143 }),
    default: 5,
    reloadable: false,
    inDatabase: false,
    doc: "Maximum number of connections in the pool of one tenant.",
    example: "5",
    extension: true,
  }),
  "tenant-host-pattern": option({
    codec: text({
      type: "host name",
      expected: 'a host name in quotes with {tenant} once, such as "{tenant}.api.example.com"',
      check: isHostPattern,
    }),
    default: null,
    reloadable: false,
    inDatabase: false,
    doc: "Host name of a tenant, in which `{tenant}` stands for the tenant's name.",
    example: '"{tenant}.api.example.com"',
    extension: true,
  }),
  "tenant-idle": option({
    codec: time(),
    default: 600,
    reloadable: false,
    inDatabase: false,
    doc: "Time without a request after which a tenant's connections are closed.",
    example: '"10m"',
    extension: true,
  }),
  "tenant-max-requests": option({
    codec: integer({ min: 1 }),
    default: 50,
    reloadable: false,
    inDatabase: false,
    doc: "Requests of one tenant in progress; further ones fail with SVC135.",
    example: "50",
    extension: true,
  }),
  "tenants-db-pool": option({
    codec: integer({ min: 1, max: 262_143 }),
    default: 100,
    reloadable: false,
    inDatabase: false,
    doc: "Maximum number of connections in the pools of all tenants.",
    example: "100",
    extension: true,
  }),
  "tenants-max-loaded": option({
    codec: integer({ min: 1 }),
    default: 100,
    reloadable: false,
    inDatabase: false,
    doc: "Tenants that are loaded at a time; the least recently used one makes room.",
    example: "100",
    extension: true,
  }),
} as const;
