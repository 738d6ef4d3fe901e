import { deepStrictEqual, throws } from "node:assert/strict";
import { svcDialect } from "../../../../src/base/dialect.ts";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { parseAccept } from "../../../../src/base/http/accept.ts";
import { contentTypeOf } from "../../../../src/base/http/media_type.ts";
import { negotiate } from "../../../../src/api/plan/negotiate.ts";
import { indexSchemaCache } from "../../../../src/state/schema_cache/lookups.ts";
import type { MediaHandler } from "../../../../src/state/schema_cache/schema_cache.ts";

const items = { schema: "api", name: "items" };

function aggregate(mediaType: string, target: MediaHandler["target"]): MediaHandler {
  const handler = { schema: "api", name: `for ${mediaType}` };
  return { kind: target === null ? "any" : "aggregate", target, handler, mediaType, binary: false };
}

interface Case {
  readonly accept: string | null;
  readonly handlers?: readonly MediaHandler[];
  readonly columns?: true;
  readonly plans?: true;
}

function chosen({ accept, handlers = [], columns, plans }: Case): readonly [string, string] {
  const cache = indexSchemaCache({
    relations: [],
    relationships: [],
    routines: [],
    representations: [],
    mediaHandlers: handlers,
    volatileFunctions: [],
  });
  const { format, mediaType } = negotiate(
    {
      accept: parseAccept(accept),
      defaultSelect: columns === undefined,
      target: { kind: "relation", relation: items },
    },
    cache,
    { dbPlanEnabled: plans === true, dialect: svcDialect },
  );
  return [
    format.kind === "aggregate" ? format.function.name : format.kind,
    contentTypeOf(mediaType),
  ];
}

const json = "application/json; charset=utf-8";
const csv = "text/csv; charset=utf-8";
const own = aggregate("App/Own", items);
const ofAny = aggregate("app/own", null);
const everything = aggregate("*/*", items);
const anyEverything = aggregate("*/*", null);
const jsonOfAny = aggregate("application/json", null);

const rows: readonly (readonly [Case, string, string])[] = [
  [{ accept: null }, "array", json],
  [{ accept: "text/csv;q=0.2, */*;q=0.1" }, "csv", csv],
  [{ accept: "app/own", handlers: [own] }, "for App/Own", "App/Own"],
  [{ accept: "app/own", handlers: [own, ofAny] }, "for App/Own", "App/Own"],
  [{ accept: "app/own", handlers: [own, ofAny], columns: true }, "for app/own", "app/own"],
  [{ accept: "app/own", handlers: [everything, own] }, "for */*", "application/octet-stream"],
  [{ accept: null, handlers: [everything] }, "for */*", "application/octet-stream"],
  [{ accept: "text/csv", handlers: [everything], columns: true }, "csv", csv],
  [
    { accept: null, handlers: [anyEverything], columns: true },
    "for */*",
    "application/octet-stream",
  ],
  [{ accept: "text/csv", handlers: [anyEverything] }, "csv", csv],
  [{ accept: "application/json", handlers: [jsonOfAny] }, "for application/json", json],
  [{ accept: "*/*", handlers: [jsonOfAny] }, "array", json],
  [{ accept: "application/vnd.svc.array", handlers: [jsonOfAny] }, "for application/json", json],
  [
    { accept: "application/vnd.svc.object", handlers: [everything] },
    "object",
    "application/vnd.svc.object+json; charset=utf-8",
  ],
  [
    { accept: "application/vnd.svc.plan, text/csv", plans: true },
    "array",
    'application/vnd.svc.plan+text; for="application/json"; charset=utf-8',
  ],
  [{ accept: "application/vnd.svc.plan, text/csv" }, "csv", csv],
  [
    { accept: 'application/vnd.svc.plan+json; for="app/own"', handlers: [ofAny], plans: true },
    "for app/own",
    'application/vnd.svc.plan+json; for="app/own"; charset=utf-8',
  ],
];

Deno.test("negotiate() takes the first accepted type that the service can produce", () => {
  for (const [input, format, type] of rows) {
    deepStrictEqual(chosen(input), [format, type], JSON.stringify(input));
  }
});

const refused: readonly (readonly [Case, string])[] = [
  [{ accept: "" }, ""],
  [{ accept: "text/html;q=0.5, Image/PNG; x=y" }, "Image/PNG;x=y, text/html"],
  [{ accept: "app/own", handlers: [own], columns: true }, "app/own"],
  [{ accept: "APP/OWN", handlers: [own] }, "APP/OWN"],
  [{ accept: "application/vnd.svc.plan" }, 'application/vnd.svc.plan+text; for="application/json"'],
  [
    { accept: 'application/vnd.svc.plan; for="a/b"', plans: true },
    'application/vnd.svc.plan+text; for="a/b"',
  ],
];

Deno.test("negotiate() throws 107 with all accepted types", () => {
  for (const [input, shown] of refused) {
    throws(() => chosen(input), (error) => {
      deepStrictEqual(
        error instanceof ServiceError &&
          [error.fields.code, error.fields.status, error.fields.message],
        ["107", 406, `None of these media types are available: ${shown}`],
      );
      return true;
    });
  }
});
