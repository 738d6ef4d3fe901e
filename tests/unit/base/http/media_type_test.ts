import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  canonicalText,
  contentTypeOf,
  type MediaRange,
  parseMediaType,
} from "../../../../src/base/http/media_type.ts";

const singular = (vendor: string, stripped = false): MediaRange => ({
  kind: "singular",
  stripped,
  vendor,
});

const plan = (parts: Partial<Extract<MediaRange, { kind: "plan" }>> = {}): MediaRange => ({
  kind: "plan",
  format: "text",
  of: { kind: "json" },
  options: [],
  vendor: "svc",
  ...parts,
});

Deno.test("parseMediaType knows the types of the service", () => {
  const rows: [text: string, media: MediaRange][] = [
    ["application/json", { kind: "json" }],
    ["application/json;charset=utf-8", { kind: "json" }],
    ["Application/JSON", { kind: "json" }],
    ["application/json!rubbish", { kind: "json" }],
    ["application/geo+json", { kind: "geojson" }],
    ["text/csv", { kind: "csv" }],
    ["text/csv; version=1", { kind: "csv" }],
    ["TEXT/PLAIN", { kind: "text" }],
    ["text/xml", { kind: "xml" }],
    ["application/openapi+json", { kind: "openapi" }],
    ["application/openapi+json; version=3.1", { kind: "openapi", version: "3.1" }],
    ['application/openapi+json;version="2.0"', { kind: "openapi", version: "2.0" }],
    ["application/x-www-form-urlencoded", { kind: "form" }],
    ["application/octet-stream", { kind: "octets" }],
    ["*/*", { kind: "any" }],
    ["*/*;a=b", { kind: "any" }],
    ["application/vnd.svc.object", singular("svc")],
    ["application/vnd.svc.object+json", singular("svc")],
    ["application/vnd.pgrst.object+json", singular("pgrst")],
    ["Application/Vnd.PgRst.Object", singular("pgrst")],
    ["application/vnd.svc.object+json;nulls=stripped", singular("svc", true)],
    ['application/vnd.svc.object+json ; Nulls = "stripped"', singular("svc", true)],
    ["application/vnd.svc.object+json;nulls=Stripped", singular("svc")],
    ["application/vnd.svc.object+json;nulls=kept;nulls=stripped", singular("svc")],
    ["application/vnd.svc.object+json;x;nulls=stripped", singular("svc")],
    ["application/vnd.svc.array+json;nulls=stripped", { kind: "strippedArray", vendor: "svc" }],
    ["application/vnd.pgrst.array;nulls=stripped", { kind: "strippedArray", vendor: "pgrst" }],
    ["application/vnd.svc.array+json", { kind: "json" }],
    ["application/vnd.svc.array", { kind: "json" }],
    ["application/vnd.svc.plan", plan()],
    ["application/vnd.svc.plan+text", plan()],
    ["application/vnd.svc.plan+json", plan({ format: "json" })],
    ["application/vnd.pgrst.plan+json", plan({ format: "json", vendor: "pgrst" })],
    [
      'application/vnd.svc.plan+json; for="application/vnd.pgrst.object"; options=verbose',
      plan({ format: "json", of: singular("pgrst"), options: ["verbose"] }),
    ],
    [
      "application/vnd.svc.plan;options=wal|analyze|nope|wal",
      plan({ options: ["analyze", "wal"] }),
    ],
    [
      'application/vnd.svc.plan;options="settings|buffers"',
      plan({ options: ["settings", "buffers"] }),
    ],
    ['application/vnd.svc.plan;for="a/b"', plan({ of: { kind: "other", text: "a/b" } })],
    ['application/vnd.svc.plan;for="application/vnd.svc.plan"', plan({ of: plan() })],
    ["image/*", { kind: "other", text: "image/*" }],
    ["text/html;level=1", { kind: "other", text: "text/html;level=1" }],
    ["Image/PNG", { kind: "other", text: "Image/PNG" }],
    ["application/jsonp", { kind: "other", text: "application/jsonp" }],
    ["application/vnd.other.object+json", {
      kind: "other",
      text: "application/vnd.other.object+json",
    }],
    ["undefined", { kind: "other", text: "undefined" }],
    ["/json", { kind: "other", text: "/json" }],
    ["", { kind: "other", text: "" }],
    ["constructor/x", { kind: "other", text: "constructor/x" }],
  ];
  for (const [text, media] of rows) deepStrictEqual(parseMediaType(text), media, text);
});

Deno.test("canonicalText and contentTypeOf name media types", () => {
  const rows: [media: MediaRange, canonical: string, contentType: string][] = [
    [{ kind: "json" }, "application/json", "application/json; charset=utf-8"],
    [{ kind: "geojson" }, "application/geo+json", "application/geo+json; charset=utf-8"],
    [{ kind: "csv" }, "text/csv", "text/csv; charset=utf-8"],
    [{ kind: "text" }, "text/plain", "text/plain; charset=utf-8"],
    [{ kind: "xml" }, "text/xml", "text/xml; charset=utf-8"],
    [{ kind: "openapi" }, "application/openapi+json", "application/openapi+json; charset=utf-8"],
    [{ kind: "octets" }, "application/octet-stream", "application/octet-stream"],
    [{ kind: "any" }, "*/*", "application/octet-stream"],
    [
      { kind: "form" },
      "application/x-www-form-urlencoded",
      "application/x-www-form-urlencoded; charset=utf-8",
    ],
    [
      singular("svc"),
      "application/vnd.svc.object+json",
      "application/vnd.svc.object+json; charset=utf-8",
    ],
    [
      singular("pgrst", true),
      "application/vnd.pgrst.object+json;nulls=stripped",
      "application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8",
    ],
    [
      { kind: "strippedArray", vendor: "svc" },
      "application/vnd.svc.array+json;nulls=stripped",
      "application/vnd.svc.array+json;nulls=stripped; charset=utf-8",
    ],
    [
      plan(),
      'application/vnd.svc.plan+text; for="application/json"',
      'application/vnd.svc.plan+text; for="application/json"; charset=utf-8',
    ],
    [
      plan({ format: "json", of: singular("svc"), options: ["analyze", "wal"] }),
      'application/vnd.svc.plan+json; for="application/vnd.svc.object+json"; options=analyze|wal',
      'application/vnd.svc.plan+json; for="application/vnd.svc.object+json"; options=analyze|wal;' +
      " charset=utf-8",
    ],
    [{ kind: "other", text: "image/png" }, "image/png", "image/png"],
  ];
  for (const [media, canonical, contentType] of rows) {
    strictEqual(canonicalText(media), canonical);
    strictEqual(contentTypeOf(media), contentType);
    if (media.kind !== "any") deepStrictEqual(parseMediaType(canonical), media);
  }
});
