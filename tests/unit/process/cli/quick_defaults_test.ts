import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { programCall } from "../../../../src/base/lib/program_call.ts";
import {
  chooseDefaults,
  type QuickChoice,
  type QuickOptions,
} from "../../../../src/process/cli/quick/quick_defaults.ts";
import type { QuickServer } from "../../../../src/process/cli/quick/quick_server.ts";
import { isLoopbackHost } from "../../../../src/base/http/host.ts";

const server: QuickServer = {
  database: "shop",
  version: "17.2",
  user: "me",
  isSuperuser: false,
  bypassesRls: false,
  isStandby: false,
  isReadOnly: false,
  schemas: [{ name: "public", relations: 1, functions: 0, owned: 0 }],
  candidates: [],
  maySetAnonRole: null,
};
const options: QuickOptions = { schemas: null, anonRole: null, host: "127.0.0.1" };

const filled = (...names: readonly string[]) =>
  names.map((name) => ({ name, relations: 1, functions: 0, owned: 0 }));
const roles = (schema: string, ...names: readonly string[]) =>
  names.map((name) => ({ name, schemas: [schema] }));

const noRole = (user: string) =>
  `No anonymous role: requests run as ${user}, read only, for this machine only. ` +
  `\`${programCall()} init\` makes roles to continue with.`;
const mine = noRole('"me"');

const rows: readonly {
  readonly title: string;
  readonly server?: Partial<QuickServer>;
  readonly options?: Partial<QuickOptions>;
  readonly choice: Partial<QuickChoice>;
}[] = [
  {
    title: "prefers the schema api",
    server: { schemas: filled("api", "public", "shop") },
    choice: { schemas: ["api"] },
  },
  {
    title: "takes public without api, and lists the others",
    server: { schemas: filled("public", "shop") },
    choice: {
      schemas: ["public"],
      warnings: ["Other schemas: shop (1 relation). --schemas=public,shop serves several.", mine],
    },
  },
  {
    title: "lists all others",
    server: { schemas: filled("public", "a", "b") },
    choice: {
      schemas: ["public"],
      warnings: [
        "Other schemas: a (1 relation), b (1 relation). --schemas=public,a,b serves several.",
        mine,
      ],
    },
  },
  {
    title: "takes the only schema with contents",
    server: { schemas: filled("shop") },
    choice: { schemas: ["shop"], warnings: [mine] },
  },
  {
    title: "takes the schema with the most relations",
    server: { schemas: [...filled("a"), { ...filled("b")[0]!, relations: 2 }] },
    choice: {
      schemas: ["b"],
      warnings: ["Other schemas: a (1 relation). --schemas=b,a serves several.", mine],
    },
  },
  {
    title: "lists the schemas if that of an option is empty",
    server: { schemas: filled("a", "b") },
    options: { schemas: ["public"] },
    choice: {
      schemas: ["public"],
      warnings: [
        "schema-empty: public has no table, view or function; others have some: a, b. " +
        "Give --schemas=a.",
        mine,
      ],
    },
  },
  {
    title: "serves an empty database",
    server: { schemas: [] },
    choice: {
      schemas: ["public"],
      warnings: [
        "schema-empty: public has no table, view or function; create one, and it is served.",
        mine,
      ],
    },
  },
  {
    title: "keeps the schemas of an option",
    server: { schemas: filled("api", "shop") },
    options: { schemas: ["shop"] },
    choice: { schemas: ["shop"], warnings: [mine] },
  },
  {
    title: "prefers web_anon",
    server: { candidates: roles("public", "anon", "web_anon") },
    choice: { anonRole: "web_anon", isLoginRole: false, warnings: [] },
  },
  {
    title: "takes anon",
    server: { candidates: roles("public", "anon") },
    choice: { anonRole: "anon", isLoginRole: false, warnings: [] },
  },
  {
    title: "takes no role without USAGE on the schema",
    server: { candidates: roles("other", "web_anon") },
    choice: { anonRole: "me", isLoginRole: true, warnings: [mine] },
  },
  {
    title: "keeps the role of an option",
    server: { isSuperuser: true, maySetAnonRole: true },
    options: { anonRole: "clerk", host: "0.0.0.0" },
    choice: {
      anonRole: "clerk",
      isLoginRole: false,
      hidesExtensionFunctions: false,
      warnings: ["Other machines can send requests: the Host header is not checked."],
    },
  },
  {
    title: "says which relations the login role owns",
    server: { schemas: filled("public").map((each) => ({ ...each, owned: 24 })) },
    choice: {
      warnings: [mine, '"me" owns 24 relations: row-level security does not hold for it.'],
    },
  },
  {
    title: "warns of a superuser",
    server: { user: 'a"b', isSuperuser: true },
    choice: {
      anonRole: 'a"b',
      isLoginRole: true,
      hidesExtensionFunctions: true,
      warnings: [
        noRole('superuser "a\\"b"'),
        "Functions that a superuser calls may act outside of the transaction: write files, run " +
        "programs, connect elsewhere.",
      ],
    },
  },
  {
    title: "warns of a role that bypasses row-level security",
    server: { bypassesRls: true },
    choice: {
      isLoginRole: true,
      hidesExtensionFunctions: false,
      warnings: [noRole('role "me", which bypasses row-level security')],
    },
  },
];

for (const { title, choice, ...row } of rows) {
  Deno.test(`chooseDefaults() ${title}`, () => {
    const chosen = chooseDefaults({ ...server, ...row.server }, { ...options, ...row.options });
    const keys = Object.keys(choice) as (keyof QuickChoice)[];
    deepStrictEqual(Object.fromEntries(keys.map((key) => [key, chosen[key]])), choice);
  });
}

Deno.test("chooseDefaults() refuses other machines where a superuser would run requests", () => {
  const open = { ...options, host: "0.0.0.0" };
  throws(() => chooseDefaults({ ...server, user: "postgres", isSuperuser: true }, open), {
    message: 'requests without a token would run as superuser "postgres": give --anon-role, ' +
      `or run ${programCall()} init`,
  });
  throws(() => chooseDefaults({ ...server, bypassesRls: true }, { ...options, host: "*4" }), {
    message: 'requests without a token would run as role "me", which bypasses row-level ' +
      `security: give --anon-role, or run ${programCall()} init`,
  });
});

Deno.test("chooseDefaults() refuses a role that the login role may not take", () => {
  const chosen = { ...options, anonRole: "Anon" };
  strictEqual(chooseDefaults({ ...server, maySetAnonRole: true }, chosen).anonRole, "Anon");
  throws(() => chooseDefaults({ ...server, maySetAnonRole: false }, chosen), {
    message: 'cannot run requests as "Anon": grant "Anon" to "me";',
  });
  throws(() => chooseDefaults(server, chosen), {
    message: 'cannot run requests as "Anon": the role does not exist',
  });
});

const hosts: readonly (readonly [host: string, isOwn: boolean])[] = [
  ["127.0.0.1", true],
  ["127.1.2.3", true],
  ["::1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["*4", false],
  ["!4", false],
  ["127.0.0.1.example", false],
  ["192.168.1.5", false],
];

for (const [host, expected] of hosts) {
  Deno.test(`isLoopbackHost() of ${host} is ${expected}`, () => {
    deepStrictEqual(isLoopbackHost(host), expected);
  });
}
