import { match, ok, strictEqual } from "node:assert/strict";
import { TenantCounts } from "../../../src/tenants/tenant_counts.ts";

/** Returns the requests by label. */
function requests(counts: TenantCounts): ReadonlyMap<string, number> {
  const lines = counts.text("svc").matchAll(/^svc_tenant_requests_total\{tenant="(.*)"\} (.*)$/gm);
  return new Map(Array.from(lines, ([, label = "", count]) => [label, Number(count)]));
}

function record(counts: TenantCounts, tenant: string, times: number): void {
  for (let time = 0; time < times; time++) counts.record(tenant, { status: 200, seconds: 0.5 });
}

Deno.test("TenantCounts labels the 50 busiest tenants, and counts each request once", () => {
  const counts = new TenantCounts();
  for (let tenant = 0; tenant < 60; tenant++) record(counts, `t${tenant}`, 1 + tenant);
  requests(counts);
  for (let tenant = 0; tenant < 60; tenant++) record(counts, `t${tenant}`, 1 + tenant);
  const found = requests(counts);
  strictEqual(found.size, 51);
  ok(found.has("t59") && !found.has("t0"));
  strictEqual(found.get("t59"), 60);
});

Deno.test("TenantCounts never lets a count fall, whichever tenants are the busiest", () => {
  const counts = new TenantCounts();
  let before: ReadonlyMap<string, number> = new Map();
  for (let round = 0; round < 40; round++) {
    for (let tenant = 0; tenant < 80; tenant++) {
      record(counts, `t${tenant}`, (tenant * 7 + round * 13) % 80);
    }
    const after = requests(counts);
    ok((after.get("_other") ?? 0) >= (before.get("_other") ?? 0));
    before = after;
  }
});

Deno.test("TenantCounts counts failures and time", () => {
  const counts = new TenantCounts();
  counts.record("a", { status: 503, seconds: 0.25 });
  counts.record("a", { status: 404, seconds: 0.25 });
  match(counts.text("svc"), /^svc_tenant_failed_requests_total\{tenant="a"\} 1\.0$/m);
  match(counts.text("svc"), /^svc_tenant_request_seconds_total\{tenant="a"\} 0\.5$/m);
});
