import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { tenantFinder } from "../../../../src/wings/tenants/find_tenant.ts";

type Config = Parameters<typeof tenantFinder>[0];

const config: Config = {
  mcpPath: "/mcp",
  serverTrustedProxies: null,
  tenantBy: "path",
  tenantHostPattern: null,
};

const paths: readonly (readonly [path: string, name: string | null, rest?: string])[] = [
  ["/acme", "acme", "/"],
  ["/acme/", "acme", "/"],
  ["/acme/facts", "acme", "/facts"],
  ["/acme//facts", "acme", "//facts"],
  ["/acme/../beta/facts", "acme", "/../beta/facts"],
  ["/acme/%2e%2e/beta", "acme", "/%2e%2e/beta"],
  ["/acme/./facts", "acme", "/./facts"],
  ["/acme/a%2Fb", "acme", "/a%2Fb"],
  ["/", null],
  ["", null],
  ["//acme", null],
  ["/./acme", null],
  ["/../acme", null],
  ["/%2e%2e/acme", null],
  ["/%61cme/facts", null],
  ["/acme%2f..%2fbeta/facts", null],
  ["/acme%00/facts", null],
  ["/ACME/facts", null],
  ["/acme.conf/facts", null],
  ["/-acme/facts", null],
  ["/acme\\beta", null],
  [`/${"a".repeat(63)}/x`, "a".repeat(63), "/x"],
  [`/${"a".repeat(64)}/x`, null],
  ["/mcp/acme", "acme", "/mcp"],
  ["/mcp/acme/llms.txt", "acme", "/mcp/llms.txt"],
  [
    "/.well-known/oauth-protected-resource/mcp/acme",
    "acme",
    "/.well-known/oauth-protected-resource/mcp",
  ],
  ["/mcp/", null],
];

for (const [path, name, rest] of paths) {
  Deno.test(`tenantFinder() by path finds ${name ?? "none"} in ${path.slice(0, 60)}`, () => {
    const find = tenantFinder(config);
    const found = find({ url: `http://h${path}`, headers: new Headers(), path, peer: null });
    strictEqual(found?.name ?? null, name);
    if (rest !== undefined) strictEqual(found?.path, rest);
  });
}

const hosts: readonly (readonly [pattern: string, host: string, name: string | null])[] = [
  ["{tenant}.example.com", "acme.example.com", "acme"],
  ["{tenant}.example.com", "acme.example.com:8443", "acme"],
  ["{tenant}.example.com", "Acme.EXAMPLE.com.", "acme"],
  ["{tenant}.example.com", "acme.example.com.:80", "acme"],
  ["{tenant}.example.com", "acme.example.com:8443:1", null],
  ["{tenant}.example.com", "acme.example.com..", null],
  ["{tenant}.example.com", "a.b.example.com", null],
  ["{tenant}.example.com", "example.com", null],
  ["{tenant}.example.com", "acmeXexample.com", null],
  ["{tenant}.example.com", "acme.example.com@evil.example", null],
  ["{tenant}.example.com", "acme.example.com, acme.example.com", null],
  ["api-{tenant}.example.com", "api-acme.example.com", "acme"],
  ["api-{tenant}.example.com", "acme.example.com", null],
  ["{tenant}.example.com", "", null],
];

for (const [pattern, host, name] of hosts) {
  Deno.test(`tenantFinder() by host finds ${name ?? "none"} in ${host} by ${pattern}`, () => {
    const find = tenantFinder({ ...config, tenantBy: "host", tenantHostPattern: pattern });
    const request = { url: `http://${host}/x`, path: "/x", peer: null };
    strictEqual(find({ ...request, headers: new Headers({ host }) })?.name ?? null, name);
  });
}

Deno.test("tenantFinder() by host finds none if Host and the URL of the request line differ", () => {
  const find = tenantFinder({
    ...config,
    tenantBy: "host",
    tenantHostPattern: "{tenant}.example.com",
  });
  const headers = new Headers({ host: "acme.example.com" });
  const at = (url: string) => find({ url, headers, path: "/x", peer: null })?.name ?? null;
  strictEqual(at("http://beta.example.com/x"), null);
  strictEqual(at("http://ACME.example.com:80/x"), "acme");
});

Deno.test("tenantFinder() by host reads the URL of HTTP/2, which has no Host header", () => {
  const find = tenantFinder({
    ...config,
    tenantBy: "host",
    tenantHostPattern: "{tenant}.example.com",
  });
  const url = "http://acme.example.com:3000/x?y=http://beta.example.com/";
  deepStrictEqual(find({ url, headers: new Headers(), path: "/x", peer: null }), {
    name: "acme",
    path: "/x",
    prefix: "",
  });
});
