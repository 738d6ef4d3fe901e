import { deepStrictEqual, ok } from "node:assert/strict";

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

const read = (path: string) => Deno.readTextFile(new URL(`../../../${path}`, import.meta.url));

Deno.test("the dashboard for Grafana queries documented metrics alone", async () => {
  const { panels }: Dashboard = JSON.parse(await read("examples/deploy/grafana_dashboard.json"));
  const page = await read("docs/how-to/monitor.md");
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const names = expressions.flatMap((expr) =>
    Array.from(expr.matchAll(/\b(?:svc|http_server|process)_\w+/g), ([name]) => name)
  );
  ok(names.length >= expressions.length);
  const isDocumented = (name: string) => {
    const metric = name.replace(/^svc_/, "").replace(/_(?:bucket|count|sum)$/, "");
    return page.includes(`| \`${metric}\``);
  };
  deepStrictEqual(names.filter((name) => !isDocumented(name)), []);
});
