import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { operationText, parseOperations } from "../../../../src/wings/operations/operation_file.ts";

const line = { headers: {}, body: null, query: "", line: 1 };
const object = { kind: "members", isList: false };
const member = { isOptional: false, literal: null, inner: null };

Deno.test("parseOperations() reads names, roles, requests, headers and bodies", () => {
  const text = `# Comment
a.b-c  anon ,"a, role"  GET  /x%20y?select=id,n:a->>b&id=eq.*
    Accept: text/csv, */*;q=0.1
    Prefer: count=exact

write anon PATCH /x?id=eq.* {a?, b="x\\"y", c[]{d, e{f}}, g=-5, "h i"=null}
whole anon POST /rpc/f *
patch anon PATCH /x [{"operator":"remove"}]
none anon POST /x []{}`;
  deepStrictEqual(parseOperations(text), [
    {
      ...line,
      name: "a.b-c",
      roles: ["anon", "a, role"],
      method: "GET",
      path: "/x%20y",
      query: "select=id,n:a->>b&id=eq.*",
      headers: { accept: "text/csv, */*;q=0.1", prefer: "count=exact" },
      line: 2,
    },
    {
      ...line,
      name: "write",
      roles: ["anon"],
      method: "PATCH",
      path: "/x",
      query: "id=eq.*",
      body: {
        kind: "members",
        isList: false,
        members: [
          { ...member, name: "a", isOptional: true },
          { ...member, name: "b", literal: '"x\\"y"' },
          {
            ...member,
            name: "c",
            inner: {
              kind: "members",
              isList: true,
              members: [
                { ...member, name: "d" },
                {
                  ...member,
                  name: "e",
                  inner: { ...object, members: [{ ...member, name: "f" }] },
                },
              ],
            },
          },
          { ...member, name: "g", literal: "-5" },
          { ...member, name: "h i", literal: "null" },
        ],
      },
      line: 6,
    },
    {
      ...line,
      name: "whole",
      roles: ["anon"],
      method: "POST",
      path: "/rpc/f",
      body: { kind: "value" },
      line: 7,
    },
    {
      ...line,
      name: "patch",
      roles: ["anon"],
      method: "PATCH",
      path: "/x",
      body: { kind: "patch", steps: '[{"operator":"remove"}]' },
      line: 8,
    },
    {
      ...line,
      name: "none",
      roles: ["anon"],
      method: "POST",
      path: "/x",
      body: { kind: "members", isList: true, members: [] },
      line: 9,
    },
  ]);
});

Deno.test("operationText() writes lines that parseOperations() reads", () => {
  const text = `a  anon,"a role"  GET  /x?id=eq.*
    Accept: text/csv
b  anon  POST  /x  {a?, b="x", c[]{d, "e f"}, g=5}
c  anon  POST  /rpc/f  *
d  anon  POST  /x  []{a}
`;
  strictEqual(parseOperations(text).map(operationText).join(""), text);
});

const problems: readonly (readonly [text: string, problem: string])[] = [
  ["  Accept: x", "1:1: expected an operation before a header"],
  ["1a anon GET /x", "1:1: expected a name of letters, digits and _"],
  ["a", "1:1: expected a name of letters, digits and _"],
  ["a GET /x", "1:7: expected GET, POST, PATCH, PUT, DELETE or QUERY"],
  ["a anon HEAD /x", "1:8: expected GET, POST, PATCH, PUT, DELETE or QUERY"],
  ["a anon, GET /x", "1:13: expected GET, POST, PATCH, PUT, DELETE or QUERY"],
  ["a anon GET x", "1:12: expected a path"],
  ["a anon GET /x?a=eq.%2A", "1:20: expected no %2A: * is any value"],
  ["a anon GET /x y", "1:15: expected a body in braces"],
  ["a anon GET /x {a b}", "1:17: expected a comma or a closing brace"],
  ["a anon GET /x {a,}", "1:18: expected a member"],
  ["a anon GET /x {a, a}", "1:19: expected each member once"],
  ["a anon GET /x {a=1.5}", "1:18: expected a JSON string, true, false, null or an integer"],
  ["a anon GET /x {a} b", "1:19: expected the end of the line"],
  [
    "a anon GET /x\n  Cookie: x",
    "2:3: expected one of Accept, Accept-Profile, Content-Profile, " +
    "Content-Type, Prefer",
  ],
  ["a anon GET /x\n  Accept: x\n  Accept: y", "3:12: expected each header once"],
  ["a anon GET /x\n\na anon GET /y", "3:1: expected another name"],
];

Deno.test("parseOperations() names line and column of a problem", () => {
  for (const [text, message] of problems) throws(() => parseOperations(text), { message }, text);
});
