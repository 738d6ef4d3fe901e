/** Mistakes in the options of issuers: at the start, and in a reload. */
import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { eventually } from "../support/timing/eventually.ts";
import { configText, type FileConfig, startService } from "../support/server/process.ts";
import { signToken, testSecret } from "../support/handler/token.ts";
import { openTodos } from "../support/server/todos.ts";

const base: FileConfig = {
  "db-uri": "pglite://memory",
  "db-embedded-init": new URL("../../examples/todos/todos.sql", import.meta.url).pathname,
  "db-schemas": "api",
  "db-anon-role": "web_anon",
};
const issuers = (...list: readonly unknown[]): FileConfig => ({
  "jwt-issuers": JSON.stringify(list),
});
const own = { issuer: "own", secret: testSecret, role: "todo_user", require: [] };

/** Mistakes that only the preparation of keys and rules shows. */
const mistakes: readonly (readonly [name: string, config: FileConfig, message: RegExp])[] = [
  [
    "an issuer without keys",
    { "jwt-issuer": "own" },
    /svc\.conf:7: jwt-issuer: without jwt-secret and jwt-jwks-url, the issuer must be an https URL/,
  ],
  [
    "a role path",
    issuers({ issuer: "own", secret: testSecret, role_claim: "$.[", allowed_roles: ["a"] }),
    /svc\.conf:7: jwt-issuers: own: role_claim: failed to parse role-claim-key value \(\$\.\[\)/,
  ],
  [
    "an algorithm",
    issuers({ ...own, algorithms: ["HS256", "none"] }),
    /svc\.conf:7: jwt-issuers: own: algorithms: "none" is not supported/,
  ],
  [
    "a key",
    issuers({ issuer: "own", keys: { keys: [{ kty: "RSA" }] }, role: "a" }),
    /svc\.conf:7: jwt-issuers: own: JSON Web Key 1 of keys cannot be used/,
  ],
];

for (const [name, config, message] of mistakes) {
  Deno.test(`the process ends with 1 and the place of the mistake: ${name}`, async () => {
    const ports = { "server-port": 0, "admin-server-port": 0 };
    await using service = await startService({ ...ports, ...base, ...config });
    strictEqual((await service.status).code, 1);
    await service.stderr.ended;
    const lines = service.stderr.all.filter((text) => text.startsWith("svc: "));
    strictEqual(lines.length, 1, service.stderr.all.join("\n"));
    match(lines[0]!, message);
    strictEqual(lines[0]!.includes(testSecret), false);
  });
}

Deno.test("a reload applies other issuers, and keeps the old ones after a mistake", async () => {
  await using todos = await openTodos();
  await using service = await startService({ ...todos.config, ...issuers(own) });
  await service.listening();
  const text = await Deno.readTextFile(service.configPath);
  const write = (config: FileConfig) => {
    const kept = text.split("\n").filter((line) => !line.startsWith("jwt-issuers")).join("\n");
    return Deno.writeTextFile(service.configPath, kept + configText(config));
  };
  const statusOf = async (iss: string) => {
    const headers = { Authorization: `Bearer ${await signToken({ iss })}` };
    return (await service.fetch("GET /todos?limit=1", { headers })).status;
  };
  const statuses = async () => [await statusOf("own"), await statusOf("next")];
  deepStrictEqual(await statuses(), [200, 401]);
  await write(issuers({ ...own, secret: "short" }));
  service.signal("SIGUSR2");
  const line = await service.stderr.waitFor(/Failed reloading config/);
  match(line, /jwt-issuers: issuer 1: secret must have at least 32 bytes$/);
  deepStrictEqual(await statuses(), [200, 401]);
  await write(issuers({ ...own, issuer: "next" }));
  service.signal("SIGUSR2");
  await eventually("the new issuer", async () => await statusOf("next") === 200);
  deepStrictEqual(await statuses(), [401, 200]);
  const page = await (await service.fetchAdmin("GET /config")).text();
  match(page, /^jwt-issuers = .*\\"secret\\":\\"\*\*\*\\"/m);
  strictEqual(page.includes(testSecret), false);
});
