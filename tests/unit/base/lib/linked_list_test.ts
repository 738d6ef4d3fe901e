import { deepStrictEqual } from "node:assert/strict";
import { LinkedList, type ListMember } from "../../../../src/base/lib/linked_list.ts";

interface Item extends ListMember<Item> {
  readonly name: string;
}

function filled(names: string): readonly [LinkedList<Item>, readonly Item[]] {
  const list = new LinkedList<Item>();
  const items = [...names].map((name): Item => ({ name, list: null, previous: null, next: null }));
  for (const item of items) list.add(item);
  return [list, items];
}

function namesOf(list: LinkedList<Item>): string {
  return [...list].map(({ name }) => name).join("");
}

Deno.test("a linked list keeps the order in which members were added", () => {
  const [list] = filled("abc");
  deepStrictEqual([namesOf(list), list.first?.name, list.last?.name, list.size], [
    "abc",
    "a",
    "c",
    3,
  ]);
});

for (const [removed, rest] of [["a", "bc"], ["b", "ac"], ["c", "ab"], ["abc", ""]] as const) {
  Deno.test(`a linked list without ${removed} has ${rest || "no member"}`, () => {
    const [list, items] = filled("abc");
    for (const item of items) if (removed.includes(item.name)) list.remove(item);
    deepStrictEqual([namesOf(list), list.size], [rest, rest.length]);
    deepStrictEqual(list.last?.name, rest.at(-1));
    deepStrictEqual(items.filter((item) => item.list === list).length, rest.length);
  });
}

Deno.test("a member returns before another one, or to the end", () => {
  const [list, [a, b, c]] = filled("abc");
  list.remove(a!);
  list.add(a!, c);
  list.remove(b!);
  list.add(b!);
  deepStrictEqual(namesOf(list), "acb");
});

Deno.test("members may be removed while a list is iterated", () => {
  const [list] = filled("abcd");
  const seen: string[] = [];
  for (const item of list) {
    seen.push(item.name);
    list.remove(item);
  }
  deepStrictEqual([seen.join(""), list.size, list.first], ["abcd", 0, null]);
});
