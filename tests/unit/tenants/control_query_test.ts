import { deepStrictEqual, throws } from "node:assert/strict";
import { ConfigError } from "../../../src/config/config_error.ts";
import { parseFile } from "../../../src/config/file.ts";
import { parseTenants } from "../../../src/tenants/control_query.ts";

Deno.test("parseTenants() writes configurations that the parser of files reads back", () => {
  const config = {
    "db-uri": "postgres://u:p@h/d?options=-c%20x",
    "db-schemas": ["api", "more"],
    "db-max-rows": 5,
    "db-config": false,
    "jwt-secret": 'line\nquote"dollar$(HOME)back\\slash\u007f\u2028',
    "app.settings.x": "y",
    "bad key\ndb-pool": "1",
    "jwt-issuers": [{ issuer: "x" }],
  };
  const [row] = parseTenants(JSON.stringify([["acme", config]]));
  const entries = parseFile({ path: "t", text: row!.text }, { HOME: "/root" });
  deepStrictEqual(Object.fromEntries(Array.from(entries, ([key, { value }]) => [key, value])), {
    ...config,
    "db-schemas": "api,more",
    "jwt-issuers": '[{"issuer":"x"}]',
  });
});

Deno.test("parseTenants() makes a configuration of another type invalid", () => {
  const configs = [null, [1], ["app"], [["app"]], "db-uri = 'x'", 5, true];
  const rows = parseTenants(JSON.stringify(configs.map((config) => ["a", config])));
  for (const { text } of rows) throws(() => parseFile({ path: "t", text }, {}), ConfigError, text);
});

Deno.test("parseTenants() reads a row without a name", () => {
  deepStrictEqual(parseTenants("[[null, {}]]"), [{ name: "", text: "" }]);
});
