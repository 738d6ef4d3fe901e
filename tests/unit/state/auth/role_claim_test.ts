import { deepStrictEqual, rejects, strictEqual, throws } from "node:assert/strict";
import { parseRolePath, roleOf } from "../../../../src/state/auth/role_claim.ts";
import { AuthSettingError } from "../../../../src/state/auth/keys.ts";

type Row = readonly [path: string, claims: Record<string, unknown>, role: string | null];

const roles = { roles: ["x", "clerk", "clerk2"] };

async function expectRoles(rows: readonly Row[]): Promise<void> {
  for (const [path, claims, role] of rows) {
    strictEqual(
      roleOf(claims, await parseRolePath(path)),
      role,
      `${path} ${JSON.stringify(claims)}`,
    );
  }
}

Deno.test("roleOf follows JSONPath", async () => {
  await expectRoles([
    ["$.role", { role: "anon2" }, "anon2"],
    ["$.role", { role: 'Ünï "c"' }, 'Ünï "c"'],
    ["$.role", {}, null],
    ["$.role", JSON.parse('{"__proto__":{"role":"boss"}}'), null],
    ["$.__proto__", {}, null],
    ["$.constructor.name", {}, null],
    ["$.a.b.c", { a: { b: { c: "clerk" } } }, "clerk"],
    ["$.a.b.c", { a: { b: "text" } }, null],
    ["$.a.length", { a: "text" }, null],
    ["$.app.roles[1]", { app: { roles: ["x", "clerk"] } }, "clerk"],
    ["$['https://id.example/role'].key", { "https://id.example/role": { key: "clerk" } }, "clerk"],
    ['$["a b"]', { "a b": "clerk" }, "clerk"],
    ["$['it\\'s']", { "it's": "clerk" }, "clerk"],
    ['$["\\u0061\\"\\n"]', { 'a"\n': "clerk" }, "clerk"],
    ["$.ünï", { "ünï": "clerk" }, "clerk"],
    ["$.list[3]", { list: ["a"] }, null],
    ["$.roles[0]", roles, "x"],
    ["$.roles[-1]", roles, "clerk2"],
    ["$.roles[1:3]", roles, "clerk"],
    ["$.roles[::2]", roles, "x"],
    ["$.roles[::-1]", roles, "clerk2"],
    ["$.roles[2,0]", roles, "clerk2"],
    ["$.roles.*", roles, "x"],
    ["$.roles[*]", roles, "x"],
    ["$.aud[0]", { aud: ["clerk"] }, "clerk"],
    ["$..role", { a: [{ role: "clerk" }] }, "clerk"],
    ["$.roles..[*]", { roles: [["clerk"]] }, '["clerk"]'],
    ['$.realm_access.roles[?(@ == "clerk")]', { realm_access: roles }, "clerk"],
    ['$.roles[?(@ == "boss")]', roles, null],
    ['$.roles[?(@ != "x")]', roles, "clerk"],
    ['$.roles[?@ > "clerk" && @ < "x"]', roles, "clerk2"],
    ['$.roles[?@ >= "x" || @ <= "a"]', roles, "x"],
    ['$.roles[?!(@ == "x")]', roles, "clerk"],
    ["$.list[?@.k].k", { list: [{}, { k: "clerk" }] }, "clerk"],
    ['$.list[?@.k != "x"].k', { list: [{ k: "x" }, { k: "clerk" }] }, "clerk"],
  ]);
});

Deno.test("roleOf searches strings by an unanchored regular expression", async () => {
  await expectRoles(
    [
      ["$.roles[?search(@, '^cl')]", roles, "clerk"],
      ["$.roles[?search(@, 'rk$')]", roles, "clerk"],
      ["$.roles[?search(@, 'er')]", roles, "clerk"],
      ["$.roles[?search(@, '[0-9]')]", roles, "clerk2"],
      ["$.roles[?search(@, '^(x|y)$')]", roles, "x"],
      ["$.roles[?!search(@, 'x')]", roles, "clerk"],
      ["$.roles[?search(@, 'boss')]", roles, null],
      ["$.roles[?search(@, '[')]", roles, null],
      ["$.roles[?search(@, 5)]", roles, null],
      ["$.roles[?search(@, '.')]", { roles: [1, null, {}, "clerk"] }, "clerk"],
    ].map((row) => row as unknown as Row).filter(([path]) => !path.includes("@.*")),
  );
});

Deno.test("roleOf follows the old syntax", async () => {
  await expectRoles([
    [".role", { role: "clerk" }, "clerk"],
    [".a.b[1]", { a: { b: ["x", "clerk"] } }, "clerk"],
    [".a$@_9", { "a$@_9": "clerk" }, "clerk"],
    ['."https://x/role"[0].value', { "https://x/role": [{ value: "clerk" }] }, "clerk"],
    ['.""', { "": "clerk" }, "clerk"],
    [".a.b", { a: ["b"] }, null],
    [".a[0]", { a: { 0: "clerk" } }, null],
    [".a[9]", { a: ["x"] }, null],
    [".length", {}, null],
    [".constructor", {}, null],
    ['.roles[?(@ == "clerk")]', roles, "clerk"],
    ['.roles[?(@ != "x")]', roles, "clerk"],
    ['.roles[?(@ ^== "cl")]', roles, "clerk"],
    ['.roles[?(@ ==^ "k2")]', roles, "clerk2"],
    ['.roles[?(@ *== "erk2")]', roles, "clerk2"],
    ['.roles[?(@=="clerk")]', roles, "clerk"],
    ['.roles[?(@ == "boss")]', roles, null],
    ['.roles[?(@ != "x")]', { roles: [1, { a: 1 }, null, "clerk"] }, "clerk"],
    ['.roles[?(@ == "clerk")]', { roles: "clerk" }, null],
  ]);
});

Deno.test("roleOf writes a value other than a string as compact JSON", async () => {
  await expectRoles([
    ["$.role", { role: 7 }, "7"],
    ["$.role", { role: null }, "null"],
    ["$.role", { role: true }, "true"],
    ["$.role", { role: ["a", { b: 1.5 }] }, '["a",{"b":1.5}]'],
    ["$.role", { role: {} }, "{}"],
    ["$.role", { role: "" }, ""],
    [".role", { role: null }, "null"],
    ["$['role']", { role: null }, "null"],
  ]);
});

Deno.test("parseRolePath rejects what is neither JSONPath nor the old syntax", async () => {
  const paths = [
    ...["", " ", "role", "role.other", ".role##", ".my_role;;domain", "$.my_role;;domain"],
    ...["@@.role.other", "1234", ".role[?(@ =)]", ".#$$%&$%/", ".", "..", ".a.", "$.", "$.a["],
    ...['.a[?(@ == "x")].b', ".a[x]", ".a b", '."a', ".a[-1]", '.a[?(@ = "x")]', ".a[?(@ == x)]"],
    ...[
      "$.a[?unknown(@)]",
      "$.a[?search(@.*, 'x')]",
      "$.a[?search(@)]",
      "$['a",
      `$[?${"!".repeat(50_000)}@]`,
    ],
  ];
  for (const path of paths) {
    await rejects(
      parseRolePath(path),
      (error) =>
        error instanceof AuthSettingError &&
        error.message.startsWith(`failed to parse role-claim-key value (${path})`),
      path.slice(0, 100),
    );
  }
});

Deno.test("parseRolePath says how the path is shown and whether its syntax is old", async () => {
  const rows: [path: string, text: string, deprecated: boolean][] = [
    ["$.role", "$.role", false],
    ["$.roles[?(@=='a')]", "$.roles[?(@=='a')]", false],
    ["$ .a [ 0 ]", "$ .a [ 0 ]", false],
    [".role", '."role"', true],
    [".roles.user_role", '."roles"."user_role"', true],
    ['."a b"[01].c', '."a b"[1]."c"', true],
    ['.roles[?(@=="role1")]', '."roles"[?(@ == "role1")]', true],
  ];
  for (const [path, text, deprecated] of rows) {
    const parsed = await parseRolePath(path);
    deepStrictEqual({ text: parsed.text, deprecated: parsed.deprecated }, { text, deprecated });
    strictEqual((await parseRolePath(text)).text, text);
  }
});

Deno.test("a path with .. rejects claims that are nested too deep", async () => {
  const path = await parseRolePath("$..role");
  const nested = (depth: number) => JSON.parse(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  strictEqual(roleOf(nested(100), path), null);
  for (const depth of [300, 6000, 100_000]) throws(() => roleOf(nested(depth), path), Error);
});
