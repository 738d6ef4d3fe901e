/** The service beside a real OpenID provider, whose keys rotate and which goes away. */
import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { eventually } from "../support/timing/eventually.ts";
import { type OidcProvider, startOidcProvider } from "../support/server/oidc_provider.ts";
import { type ServiceProcess, startService } from "../support/server/process.ts";

const fixture = { name: "revocations", roles: ["anon", "writer"] };

function start(uri: string, { issuer }: OidcProvider): Promise<ServiceProcess> {
  return startService({
    "db-uri": uri,
    "db-schemas": "api",
    "db-anon-role": "anon",
    "server-host": "127.0.0.1",
    "jwt-issuers": JSON.stringify([
      { issuer, audience: "shop", allowed_roles: ["writer"], typ: "at+jwt" },
    ]),
  });
}

/** Sends a request with a token, and returns the role, or the status of an error. */
async function roleOf(service: ServiceProcess, token: string | null): Promise<unknown> {
  const headers: Record<string, string> = token === null
    ? {}
    : { Authorization: `Bearer ${token}` };
  const response = await service.fetch("GET /rpc/whoami", { headers });
  const body = await response.json();
  return response.status === 200 ? body : `${response.status} ${body.code} ${body.message}`;
}

const unavailable = "503 SVC310 The keys of the token's issuer are not available";
const notFound = "401 SVC301 No suitable key or wrong key type";

Deno.test("tokens of an OpenID provider are accepted while its keys rotate", async (t) => {
  const database = await engines.pg(fixture);
  try {
    await using provider = await startOidcProvider();
    await using service = await start(database.uri, provider);
    await service.listening();
    const tokens = [await provider.token()];
    await t.step("the first token is accepted", async () => {
      strictEqual(await roleOf(service, tokens[0]!), "writer");
    });
    await t.step("no request fails while the keys rotate", async () => {
      const answers: unknown[] = [];
      let isRotated = false;
      const client = async () => {
        while (!isRotated) answers.push(await roleOf(service, tokens.at(-1)!));
      };
      const clients = [client(), client(), client()];
      await provider.rotate("2");
      tokens.push(await provider.token());
      const before = answers.length;
      await eventually("requests with the new key", () => answers.length > before + 20);
      isRotated = true;
      await Promise.all(clients);
      deepStrictEqual(new Set(answers), new Set(["writer"]));
      strictEqual(await roleOf(service, tokens[0]!), "writer");
    });
    await t.step("metrics count the fetches", async () => {
      const text = await (await service.fetchAdmin("GET /metrics")).text();
      const label = `issuer="${provider.issuer}"`;
      ok(text.includes(`svc_jwks_fetches_total{${label},result="success"} 2.0`), text);
      match(text, new RegExp(`svc_jwks_age_seconds\\{${label}\\} [0-9.]+`));
    });
    await t.step("known keys serve while the provider is down", async () => {
      await provider.stop();
      for (const token of tokens) strictEqual(await roleOf(service, token), "writer");
    });
    await t.step("a key that the provider withdrew is refused after a restart", async () => {
      await provider.restart("3");
      await using other = await start(database.uri, provider);
      await other.listening();
      strictEqual(await roleOf(other, await provider.token()), "writer");
      for (const token of tokens) strictEqual(await roleOf(other, token), notFound);
    });
  } finally {
    await database.remove();
  }
});

Deno.test("a service starts without its OpenID provider, and finds it later", async () => {
  const database = await engines.pg(fixture);
  try {
    await using provider = await startOidcProvider();
    const token = await provider.token();
    await provider.stop();
    await using service = await start(database.uri, provider);
    await service.listening();
    strictEqual(await roleOf(service, token), unavailable);
    strictEqual(await roleOf(service, null), "anon");
    strictEqual((await service.fetchAdmin("GET /ready")).status, 200);
    const lines = service.stderr.all.filter((line) => line.includes("Failed to fetch the keys"));
    strictEqual(lines.length, 1);
    match(lines[0]!, new RegExp(`of ${provider.issuer}: the request failed: `));
    await provider.restart("2");
    const next = await provider.token();
    await eventually("the keys are fetched", async () => await roleOf(service, next) === "writer");
    strictEqual(await roleOf(service, token), notFound);
  } finally {
    await database.remove();
  }
});
