import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { configFileText, type FileValues } from "../../../../../src/wings/audit/init/init_files.ts";
import { rejectFile } from "../../../../../src/state/config/handler_options.ts";
import { loadConfig } from "../../../../../src/state/config/load.ts";
import { wingOptions } from "../../../../../src/process/wings.ts";

const values: FileValues = {
  dbUri: "postgres://authenticator@localhost/shop",
  schemas: ["api", "shop"],
  anonRole: "web_anon",
  jwtSecret: "x".repeat(32),
  ports: { api: 3002, admin: 3003 },
  lacksPassword: false,
  keepsAnswers: false,
  overrides: new Map(),
};

Deno.test("configFileText() refuses writes without a filter, unless the command line says otherwise", () => {
  const isRefused = (overrides: FileValues["overrides"]) => {
    const file = { path: "svc.conf", text: configFileText({ ...values, overrides }) };
    return loadConfig({ wingOptions, file, environment: {}, readFile: rejectFile }).dbSafeUpdate;
  };
  strictEqual(isRefused(new Map()), true);
  strictEqual(isRefused(new Map([["db-safe-update", "false"]])), false);
});

Deno.test("configFileText() writes the schemas and the ports", () => {
  const file = { path: "svc.conf", text: configFileText(values) };
  const config = loadConfig({ wingOptions, file, environment: {}, readFile: rejectFile });
  deepStrictEqual(
    [config.dbSchemas, config.serverPort, config.adminServerPort],
    [["api", "shop"], 3002, 3003],
  );
});
