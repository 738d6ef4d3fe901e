import { deepStrictEqual } from "node:assert/strict";
import type { Preferences } from "../../../../src/api/request/api_request.ts";
import { parsePreferences } from "../../../../src/api/request/preferences.ts";
import { noPreferences } from "../../../support/handler/reading.ts";

Deno.test("parsePreferences reads the header", () => {
  const rows: [header: string | null, preferences: Partial<Preferences>][] = [
    [null, {}],
    ["", {}],
    [" ", {}],
    ["resolution=merge-duplicates", { resolution: "merge-duplicates" }],
    ["resolution=ignore-duplicates", { resolution: "ignore-duplicates" }],
    ["return=representation", { return: "representation" }],
    ["return=minimal", { return: "minimal" }],
    ["return=headers-only", { return: "headers-only" }],
    ["read=primary", { read: "primary" }],
    ["read=standby", { invalid: ["read=standby"] }],
    ["count=exact", { count: "exact" }],
    ["count=planned", { count: "planned" }],
    ["count=estimated", { count: "estimated" }],
    ["tx=commit", { tx: "commit" }],
    ["tx=rollback", { tx: "rollback" }],
    ["missing=default", { missing: "default" }],
    ["missing=null", { missing: "null" }],
    ["handling=strict", { handling: "strict" }],
    ["handling=lenient", { handling: "lenient" }],
    ["timezone=America/Los_Angeles", { timezone: "America/Los_Angeles" }],
    ["timezone=", { timezone: "" }],
    ["max-affected=10", { maxAffected: 10 }],
    ["max-affected=-1", { maxAffected: -1 }],
    ["max-affected=ten", { invalid: ["max-affected=ten"] }],
    ["max-affected=", { invalid: ["max-affected="] }],
    ["max-affected=1.5", { invalid: ["max-affected=1.5"] }],
    ["max-affected=99999999999999999999", { maxAffected: Number.MAX_SAFE_INTEGER }],
    [" return=minimal ,\tcount=exact,tx=rollback ", {
      return: "minimal",
      count: "exact",
      tx: "rollback",
    }],
    ["tx=commit, tx=rollback", { tx: "commit" }],
    ["timezone=a, timezone=b", { timezone: "a" }],
    ["max-affected=ten, max-affected=5", { maxAffected: 5, invalid: ["max-affected=ten"] }],
    ["max-affected=1, max-affected=5", { maxAffected: 1 }],
    ["count=none, count=exact", { count: "exact", invalid: ["count=none"] }],
    ["handling=strict, anything", { handling: "strict", invalid: ["anything"] }],
    ["b, a, b", { invalid: ["b", "a", "b"] }],
    ["return=minimal,,count=exact", { return: "minimal", count: "exact", invalid: [""] }],
    ["Return=minimal", { invalid: ["Return=minimal"] }],
    ["return = minimal", { invalid: ["return = minimal"] }],
    ['return="minimal"', { invalid: ['return="minimal"'] }],
    ["return=representation; x=y", { invalid: ["return=representation; x=y"] }],
    ["handling=strict; max-affected=2", {
      handling: "strict",
      invalid: ["handling=strict; max-affected=2"],
    }],
    ["handling=strict;max-affected=2, handling=lenient", {
      handling: "strict",
      invalid: ["handling=strict;max-affected=2"],
    }],
    ...['handling="strict"', "Handling=strict", "handling = strict"].map((token) =>
      [`${token}, max-affected=2`, {
        handling: "strict",
        maxAffected: 2,
        invalid: [token],
      }] as [string, Partial<Preferences>]
    ),
    ...['tx="rollback"', "TX=rollback", "tx = Rollback", "tx=rollback; x=1"].map((token) =>
      [token, { tx: "rollback", invalid: [token] }] as [string, Partial<Preferences>]
    ),
    ['tx=commit, tx="rollback"', { tx: "commit", invalid: ['tx="rollback"'] }],
    ["tx=rollbacks", { invalid: ["tx=rollbacks"] }],
    ["params=single-object", { invalid: ["params=single-object"] }],
    ["tx=maybe", { invalid: ["tx=maybe"] }],
    ["max-affected", { invalid: ["max-affected"] }],
    ["toString, __proto__, constructor=1", { invalid: ["toString", "__proto__", "constructor=1"] }],
  ];
  for (const [header, preferences] of rows) {
    deepStrictEqual(parsePreferences(header), { ...noPreferences, ...preferences }, String(header));
  }
});
