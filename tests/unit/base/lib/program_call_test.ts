import { strictEqual } from "node:assert/strict";
import { connectionName } from "../../../../src/state/config/call_words.ts";
import { callOf, installCall, type ProcessStart } from "../../../../src/base/lib/program_call.ts";
import { sourceWord } from "../../../../src/state/config/call_words.ts";

const checkout: ProcessStart = {
  module: "/home/me/svc/src/base/lib/program_call.ts",
  script: "/home/me/svc/main.ts",
  folder: "/home/me/svc",
  path: "/usr/bin:/home/me/.deno/bin",
  deno: "2.9.6",
  isCompiled: false,
  isFile: (path) => path === "/home/me/.deno/bin/deno",
};

const installed: ProcessStart = {
  ...checkout,
  module: "/home/me/shop/node_modules/svc-api/dist/program.js",
  script: "/home/me/shop/node_modules/.bin/svc-api",
  folder: "/home/me/shop",
  deno: null,
};

const npxFolder = "/home/me/.npm/_npx/0a1b";
const byNpx: ProcessStart = {
  ...installed,
  module: `${npxFolder}/node_modules/svc-api/dist/program.js`,
  script: `${npxFolder}/node_modules/.bin/svc-api`,
};

const npxOnPath = "/home/me/.npm/_npx/77/node_modules/.bin";
const globally = { module: "/usr/lib/node_modules/svc-api/dist/program.js" };

const rows: readonly (readonly [title: string, start: ProcessStart, call: string])[] = [
  ["an executable", { ...checkout, isCompiled: true }, "svc"],
  ["a checkout", checkout, "deno run -A main.ts"],
  [
    "a checkout from another folder",
    { ...checkout, folder: "/tmp" },
    "deno run -A /home/me/svc/main.ts",
  ],
  ["a checkout above", { ...checkout, folder: "/home/me" }, "deno run -A svc/main.ts"],
  [
    "a path with a space and a quote",
    { ...checkout, module: "/home/me/my 'svc/src/base/lib/program_call.ts", folder: "/tmp" },
    `deno run -A '/home/me/my '\\''svc/main.ts'`,
  ],
  [
    "a checkout without Deno",
    { ...checkout, isFile: () => false },
    "npx -y deno@2.9.6 run -A main.ts",
  ],
  [
    "a checkout with the Deno of npx",
    { ...checkout, path: npxOnPath, isFile: (path) => path === `${npxOnPath}/deno` },
    "npx -y deno@2.9.6 run -A main.ts",
  ],
  ["npx", byNpx, `node ${npxFolder}/node_modules/svc-api/bin/svc.mjs`],
  ["a dependency", installed, "npx svc-api"],
  [
    "a dependency by its file",
    { ...installed, script: "/x/svc.mjs" },
    "node node_modules/svc-api/bin/svc.mjs",
  ],
  ["a global package", { ...installed, ...globally, script: "/usr/bin/svc" }, "svc"],
  [
    "the package on Deno",
    { ...installed, deno: "2.9.6" },
    "deno run -A node_modules/svc-api/bin/svc.mjs",
  ],
];

for (const [title, start, call] of rows) {
  Deno.test(`callOf() of ${title} is ${call}`, () => strictEqual(callOf(start), call));
}

Deno.test("installCall() installs PGlite beside the program", () => {
  strictEqual(installCall(byNpx), `npm install --prefix ${npxFolder} @electric-sql/pglite`);
  strictEqual(installCall(installed), "npm install @electric-sql/pglite");
});

const configurations: readonly (readonly [
  file: string | null,
  uri: { readonly name: string; readonly value: string } | null,
  word: string,
])[] = [
  [null, null, ""],
  ["my shop.conf", null, "'my shop.conf'"],
  ["svc.conf", { name: "--db-uri", value: "postgres://me:secret@host/shop" }, "svc.conf"],
  [null, { name: connectionName, value: "postgres://me:secret@host/shop" }, "postgres://…"],
  [null, { name: connectionName, value: "pglite:///my data" }, "'pglite:///my data'"],
  [null, { name: "--db-uri", value: "host=h password=secret" }, "--db-uri=postgres://…"],
];

for (const [file, uri, word] of configurations) {
  Deno.test(`sourceWord() returns ${JSON.stringify(word)}`, () => {
    const flags = new Map(uri === null ? [] : [["db-uri", uri] as const]);
    strictEqual(sourceWord({ file, flags }), word);
  });
}
