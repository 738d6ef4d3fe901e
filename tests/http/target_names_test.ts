/** Aliased embeds that are addressed by their targets' names: the answer, its warning, the log. */
import { deepStrictEqual } from "node:assert/strict";
import type { Observation } from "../../mod.ts";
import { version } from "../../src/base/version.ts";
import { serviceSuite } from "../support/handler/api.ts";
import { type Row } from "../support/handler/rows.ts";

const config = { dbSchemas: ["api"], dbAnonRole: "anon" } as const;

const warningText = (list: string, product: string) =>
  `299 ${product}v${version} "Embedded resource was referenced by relation name even though it has ` +
  "an alias. This is deprecated and will stop working in a future release. Update " +
  `${list} in query string filters, orders or limits."`;

const minimal = { as: "writer", body: { price: 1 } };
const shown = { ...minimal, headers: { Prefer: "return=representation" } };

/** Request, status, body, what to use for what; null where there is nothing to warn of. */
type Use = readonly [string, Row[1], number, unknown, string | null];

const uses: readonly Use[] = [
  ["GET /makers?select=id,tools(id)&tools.price=gt.40&id=eq.1", {}, 200, [
    { id: 1, tools: [{ id: 2 }] },
  ], null],
  ["GET /makers?select=id,t:tools(id)&t.price=gt.40&id=eq.1", {}, 200, [
    { id: 1, t: [{ id: 2 }] },
  ], null],
  ["GET /makers?select=id,t:tools(id)&tools.price=gt.40&id=eq.1", {}, 200, [
    { id: 1, t: [{ id: 2 }] },
  ], "`tools` to `t`"],
  [
    "GET /tools?select=id,m:makers(name),s:sheds(title)&sheds.order=title&sheds.limit=1&makers.city=eq.Ulm&id=eq.1",
    {},
    200,
    [{ id: 1, m: { name: "Bosk" }, s: [{ title: "north" }] }],
    "`makers` to `m`, `sheds` to `s`",
  ],
  [
    "GET /makers?select=t:tools(id,m:manuals(pages))&t.manuals.pages=gt.20&t.order=id&id=eq.1",
    {},
    200,
    [{ t: [{ id: 1, m: null }, { id: 2, m: { pages: 40 } }] }],
    "`manuals` to `m`",
  ],
  ["GET /makers?select=é:tools(id)&tools.price=gt.40&id=eq.1", {}, 200, [
    { é: [{ id: 2 }] },
  ], "`tools` to `Ã©`"],
  ["HEAD /makers?select=id,t:tools(id)&tools.price=gt.40", {}, 200, undefined, "`tools` to `t`"],
  ["GET /rpc/one_tool?tool=1&select=id,m:makers(name)&makers.city=eq.x", {}, 200, {
    id: 1,
    m: null,
  }, "`makers` to `m`"],
  ["PATCH /tools?select=id,m:makers(name)&makers.city=eq.x&id=eq.1", shown, 200, [
    { id: 1, m: null },
  ], "`makers` to `m`"],
];

for (
  const [dialect, product, add] of [
    ["svc", "SVC", serviceSuite],
    ["pgrst", "PostgREST", serviceSuite],
  ] as const
) {
  const suite = add("tools", { ...config, dialect }, { title: `target names, ${dialect}` });
  suite.rows(
    "an embed is addressed",
    uses.map(([line, parts, status, body, list]): Row => [line, parts, status, body, {
      Warning: list === null ? null : warningText(list, product),
    }]),
  );
}

const events: Observation[] = [];
const observed = serviceSuite("tools", { ...config, observe: (event) => void events.push(event) }, {
  title: "target names in the log",
});

observed.test("the use of a target's name is told before its request, and once", async (api) => {
  const target = "/makers?select=id,t:tools(id,nope)&tools.price=gt.40";
  for (const path of [target, "/makers?select=id,t:tools(id)&t.price=gt.40", "/makers"]) {
    for (let time = 0; time < 3; time++) await api(`GET ${path}`);
  }
  const kinds = new Set(["target-names-used", "request-finished"]);
  const shown = events.filter(({ kind }) => kinds.has(kind)).map((event) =>
    event.kind === "target-names-used" ? [event.uses, event.method, event.target] : event.kind
  );
  const use = [[["tools", "t"]], "GET", target];
  const finished = "request-finished";
  deepStrictEqual(shown.slice(0, 6), [use, finished, use, finished, use, finished]);
  deepStrictEqual(new Set(shown.slice(6)), new Set([finished]));
});
