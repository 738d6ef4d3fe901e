import { deepStrictEqual, ok } from "node:assert/strict";

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
}

const read = (path: string) => Deno.readTextFile(new URL(`../../../../${path}`, import.meta.url));

Deno.test("the dashboard for Grafana queries documented metrics alone", async () => {
  const { panels }: Dashboard = JSON.parse(await read("examples/deploy/grafana_dashboard.json"));
  const page = await read("docs/how-to/monitor.md") +
    await read("docs/how-to/serve-many-databases.md");
  const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  const names = expressions.flatMap((expr) =>
    Array.from(expr.matchAll(/\b(?:svc|http_server|process)_\w+/g), ([name]) => name)
  );
  ok(names.length >= expressions.length);
  const isDocumented = (name: string) => {
    const metric = name.replace(/^svc_/, "").replace(/_(?:bucket|count|sum)$/, "");
    return page.includes(`| \`${metric}\``) || page.includes(`| \`${name}\``);
  };
  deepStrictEqual(names.filter((name) => !isDocumented(name)), []);
});

Deno.test("each alert queries documented metrics and has a paragraph of its own", async () => {
  const rules = await read("examples/deploy/alerts.yml");
  const metrics = await read("docs/how-to/monitor.md");
  const page = await read("docs/how-to/handle-alerts.md");
  const alerts = Array.from(rules.matchAll(/- alert: (\w+)/g), ([, name]) => name!);
  deepStrictEqual(alerts, Array.from(page.matchAll(/^## (\w+)$/gm), ([, name]) => name));
  deepStrictEqual(
    Array.from(rules.matchAll(/handle-alerts\.md#(\w+)/g), ([, anchor]) => anchor),
    alerts.map((name) => name.toLowerCase()),
  );
  const names = Array.from(
    rules.matchAll(/\b(?:svc|http_server)_\w+/g),
    ([name]) => name.replace(/^svc_/, "").replace(/_count$/, ""),
  );
  deepStrictEqual(names.filter((name) => !metrics.includes(`| \`${name}\``)), []);
});
