import { deepStrictEqual } from "node:assert/strict";
import { portFlags } from "../../../../src/process/cli/demo.ts";

const rows: readonly (readonly [
  used: readonly number[],
  flag: string | null,
  environment: Readonly<Record<string, string>>,
  ports: readonly string[],
])[] = [
  [[], null, {}, ["3000", "3001"]],
  [[3001], null, {}, ["3002", "3003"]],
  [[3001], "3000", {}, ["3000", "3002"]],
  [[3000], null, { SVC_SERVER_PORT: "4000" }, ["4000", "4001"]],
  [[], null, { SVC_ADMIN_SERVER_PORT: "9000" }, ["3000", "9000"]],
];

for (const [used, flag, environment, ports] of rows) {
  Deno.test(`demo serves on ports ${ports.join(" and ")}`, async () => {
    const given = flag === null ? [] : [["server-port", { name: "--port", value: flag }] as const];
    const flags = await portFlags(
      new Map(given),
      environment,
      (port) => Promise.resolve(!used.includes(port)),
    );
    deepStrictEqual(
      [flags.get("server-port")?.value, flags.get("admin-server-port")?.value],
      ports,
    );
  });
}
