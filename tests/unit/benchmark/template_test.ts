import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  type Draw,
  drawAtRandom,
  fillTemplate,
  spreadDraws,
  templateParts,
  type User,
} from "../../../tools/benchmark/template.ts";

const user: User = { number: 1007, claims: '{"sub":"user-1007"}', token: "a.b.c" };

const filled: readonly (readonly [text: string, draw: Draw, filled: string])[] = [
  ["GET /items?id=eq.{1..100}", { chance: 0, user: null }, "GET /items?id=eq.1"],
  ["GET /items?id=eq.{1..100}&limit=1", { chance: 0.999, user }, "GET /items?id=eq.100&limit=1"],
  ["GET /items?offset={0..1}", { chance: 0.5, user: null }, "GET /items?offset=1"],
  ["GET /items", { chance: 0.5, user }, "GET /items"],
  ["id=eq.{10..59}{user}", { chance: 0, user }, "id=eq.101007"],
  ["Bearer {token}", { chance: 0, user }, "Bearer a.b.c"],
  ["Bearer {token}{user}", { chance: 0, user: null }, "Bearer "],
  ['{"a":1,"{b}":{}}', { chance: 0, user }, '{"a":1,"{b}":{}}'],
];

for (const [text, draw, expected] of filled) {
  Deno.test(`fillTemplate() fills ${text} at ${draw.chance}`, () => {
    strictEqual(fillTemplate(text, draw), expected);
  });
}

Deno.test("templateParts() splits a text at its placeholders", () => {
  deepStrictEqual(templateParts("a {1..9}{user} b {token}"), [
    { kind: "text", text: "a " },
    { kind: "expression", lua: "math.random(1, 9)" },
    { kind: "text", text: "" },
    { kind: "expression", lua: "users[user]" },
    { kind: "text", text: " b " },
    { kind: "expression", lua: "tokens[user]" },
    { kind: "text", text: "" },
  ]);
  deepStrictEqual(templateParts("a"), [{ kind: "text", text: "a" }]);
});

const users = [1, 2, 3, 4].map((number): User => ({ ...user, number }));

Deno.test("spreadDraws() spreads over the range and the users", () => {
  deepStrictEqual(
    spreadDraws(users, 2).map(({ chance, user }) => [chance, user?.number]),
    [[0, 1], [0.5, 3]],
  );
  deepStrictEqual(spreadDraws(undefined, 1), [{ chance: 0, user: null }]);
});

Deno.test("drawAtRandom() draws one of the users, or none", () => {
  strictEqual(drawAtRandom(undefined).user, null);
  strictEqual(users.includes(drawAtRandom(users).user!), true);
});
