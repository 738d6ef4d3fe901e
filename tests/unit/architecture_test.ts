/** The ways of requests in `docs/explanation/architecture.md`. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { readGraph } from "../../tools/lint/import_graph.ts";

const root = new URL("../../", import.meta.url);
const page = await Deno.readTextFile(new URL("docs/explanation/architecture.md", root));
const graph = await readGraph(new URL("src/", root));

/** A way: its stages, each of which ends with a return to the handler. */
interface Way {
  readonly name: string;
  readonly returns: number;
  readonly stages: readonly (readonly string[])[];
}

function waysOf(text: string): readonly Way[] {
  const section = text.split("### Ways by files")[1]!.split("\n## ")[0]!;
  return section.split(/^- /m).slice(1).map((item) => {
    const [head = "", list = ""] = item.split(" times: ");
    const stages = list.split("↩").map((stage) =>
      Array.from(stage.matchAll(/`([^`]+)`/g), ([, name]) => pathOf(name!))
    );
    return { name: head.replace(/\s+/g, " "), returns: Number(/\d+$/.exec(head)?.[0]), stages };
  });
}

function pathOf(name: string): string {
  return name.includes("/") ? name : `src/api/handler/${name}`;
}

const isOfHandler = (path: string) => path.startsWith("src/api/handler/");

const ways = waysOf(page);

Deno.test("the page has the ways of a read, a cached read, a write and a batch", () => {
  deepStrictEqual(ways.map(({ returns }) => returns), [6, 3, 7, 8]);
});

for (const { name, returns, stages } of ways) {
  Deno.test(`${name} times, by files that exist`, () => {
    strictEqual(stages.length - 1, returns);
    deepStrictEqual(stages.flat().filter((path) => !graph.has(path)), []);
  });

  Deno.test(`${name} times: only from other folders, and the handler calls each stage`, () => {
    for (const [index, stage] of stages.entries()) {
      if (index < returns) ok(!isOfHandler(stage.at(-1)!), `${stage.at(-1)} is of the handler`);
      const callers = [...stages.slice(0, index + 1).flat().filter(isOfHandler), ...stage];
      for (const path of stage.filter((each) => !isOfHandler(each) && !isBehindPort(each))) {
        ok(callers.some((caller) => graph.get(caller)!.includes(path)), `nothing imports ${path}`);
      }
    }
  });
}

/** Returns whether files call a file by the interface `Database` alone. */
function isBehindPort(path: string): boolean {
  return path.startsWith("src/database/");
}
