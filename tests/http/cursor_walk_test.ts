/**
 * Walks over a table that changes meanwhile, and walks in random orders.
 *
 * `WALK_ROWS` is the number of rows of the first. Default: 3,000.
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { type Api, serviceSuite } from "../support/handler/api.ts";
import { walk } from "../support/server/links.ts";

const size = Number(Deno.env.get("WALK_ROWS") ?? 3000);
const pageLength = Math.max(100, size / 100);

const suite = serviceSuite("cursor_walks", {
  dbSchemas: ["api"],
  dbAnonRole: "anon",
  dbTxEnd: "commit",
  dbPlanEnabled: true,
}, { title: "walks" });

/** Inserts rows of ids that were never used, and deletes rows that need not last. */
async function change(api: Api, page: number): Promise<void> {
  const added = Array.from({ length: 20 }, (_, n) => ({
    id: size * 2 + nextId++,
    a: n % 4 === 0 ? null : (page * 7 + n) % 50,
    b: n % 3 === 0 ? null : n % 5,
  }));
  const inserted = await api("POST /items", { as: "writer", body: added });
  strictEqual(inserted.status, 201);
  const ids = Array.from({ length: 20 }, (_, n) => 3 * ((page * 131 + n * 17) % size) + 3);
  const deleted = await api(`DELETE /items?id=in.(${ids.join()})`, { as: "writer" });
  strictEqual(deleted.status, 204);
}

let nextId = 0;

const walks = [
  ["a,b.desc", "next"],
  ["a.desc.nullslast,b.asc.nullsfirst", "prev"],
  ["a.asc.nullsfirst,b", "next"],
  ["b.desc,id.desc", "prev"],
] as const;

suite.test("a walk over a changing table meets each lasting row once", async (api) => {
  for (const [order, relation] of walks) {
    await api("POST /rpc/refill", { as: "writer", body: { size } });
    const start = relation === "next" ? "after" : "before";
    const target = `/items?select=id,a,b&order=${order}&limit=${pageLength}&${start}=`;
    const pages = await walk(api, target, relation, (page) => change(api, page));
    const ids = pages.flat().map(({ id }) => Number(id));
    strictEqual(new Set(ids).size, ids.length, `${order}: a row appears twice`);
    const met = new Set(ids);
    const missing = Array.from({ length: size }, (_, n) => n + 1)
      .filter((id) => id % 3 !== 0 && !met.has(id));
    deepStrictEqual(missing, [], order);
    ok(pages.length > 10, `${order}: ${pages.length} pages`);
  }
});

suite.test("a page reads twice its rows at most, across NULL too", async (api) => {
  await api("POST /rpc/refill", { as: "writer", body: { size } });
  const accept = { headers: { Accept: "application/vnd.svc.plan+json;options=analyze" } };
  const target = "/items?select=id&order=a&limit=10";
  const pages = await walk(api, `${target}&after=`, "next");
  const edge = pages.findIndex((page) => page.some(({ id }) => Number(id) % 5 === 0));
  ok(edge > 0);
  for (const start of [1, edge - 1, edge, edge + 1]) {
    let query = "after=";
    for (let page = 0; page < start; page++) query = await nextOf(api, `${target}&${query}`);
    const [{ Plan: plan }] = await (await api(`GET ${target}&${query}`, accept)).json();
    ok(rowsRead(plan) <= 2 * 11, JSON.stringify(plan));
  }
});

async function nextOf(api: Api, target: string): Promise<string> {
  const link = (await api(`GET ${target}`)).headers.get("Link")!;
  return /after=[^>]+(?=>; rel="next")/.exec(link)![0];
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Actual Rows": number;
  readonly "Rows Removed by Filter"?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Rows that scans of the table return or discard. */
function rowsRead(node: PlanNode): number {
  const own = /Index|Seq/.test(node["Node Type"])
    ? node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)
    : 0;
  return (node.Plans ?? []).reduce((sum, child) => sum + rowsRead(child), own);
}

const operand = fc.constantFrom("a", "b", "name", "spec->>k", "spec->n", "a.add(b)", "at", "id");
const term = fc.tuple(
  operand,
  fc.constantFrom("", ".asc", ".desc"),
  fc.constantFrom("", ".nullsfirst", ".nullslast"),
).map((parts) => parts.join(""));
const order = fc.uniqueArray(term, {
  minLength: 1,
  maxLength: 4,
  selector: (each) => each.split(".")[0],
});

suite.test("a walk in any order lists the rows of that order", async (api) => {
  const walked = fc.asyncProperty(
    order,
    fc.integer({ min: 1, max: 9 }),
    fc.constantFrom("", "&a=gt.2", "&or=(a.is.null,b.lt.3)"),
    async (terms, limit, filter) => {
      const target = `/few?select=id&order=${terms.join()}${filter}`;
      const isTotal = terms.some((each) => /^id\b/.test(each));
      const all = await (await api(
        `GET ${target.replace(terms.join(), isTotal ? terms.join() : `${terms.join()},id`)}`,
      )).json();
      const page = `${target}&limit=${limit}`;
      deepStrictEqual((await walk(api, `${page}&after=`, "next")).flat(), all);
      deepStrictEqual((await walk(api, `${page}&before=`, "prev")).toReversed().flat(), all);
    },
  );
  await fc.assert(walked, { numRuns: 40 });
});
