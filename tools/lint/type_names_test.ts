import { deepStrictEqual } from "node:assert/strict";

const src = new URL("../../src/", import.meta.url);

/** Global types of the platform, which a type of the same name would hide. */
const globals = ["Headers", "Node", "Request", "Response"];

async function declaredTypes(folder: URL): Promise<readonly string[]> {
  const names: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const entry = new URL(isDirectory ? `${name}/` : name, folder);
    if (isDirectory) names.push(...await declaredTypes(entry));
    else if (name.endsWith(".ts")) {
      const text = await Deno.readTextFile(entry);
      const found = text.matchAll(/^(?:export )?(?:abstract )?(?:interface|type|class) (\w+)/gm);
      names.push(...Array.from(found, ([, type]) => type!));
    }
  }
  return names;
}

Deno.test("src declares each type name once, and no name of the platform", async () => {
  const names = [...await declaredTypes(src), ...globals];
  const twice = names.filter((name, at) => names.indexOf(name) !== at);
  deepStrictEqual(twice, []);
});
