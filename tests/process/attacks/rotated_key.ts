/** A token that was signed by a stolen key, after its issuer has replaced the key. */
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { HttpConnection, requestBytes } from "../../support/clients/http_connection.ts";
import type { Attack, Issuer } from "./attack.ts";
import { requestAttack } from "./requests.ts";

interface SigningKey {
  readonly publicKey: JWK;
  readonly sign: () => Promise<string>;
}

async function signingKey(kid: string): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  return {
    publicKey: { ...await exportJWK(publicKey), kid, alg: "ES256" },
    sign: () =>
      new SignJWT({ role: "anon" }).setProtectedHeader({ alg: "ES256", kid }).sign(privateKey),
  };
}

/** Serves a key set with the stolen key, and replaces that when the attack begins. */
async function openIssuer(): Promise<Issuer> {
  const [stolen, fresh] = [await signingKey("stolen"), await signingKey("fresh")];
  let keys = [stolen.publicKey];
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ keys }, { headers: { "Cache-Control": "max-age=60" } }),
  );
  return {
    unguarded: { "jwt-secret": JSON.stringify({ keys }) },
    guarded: { "jwt-jwks-url": `http://127.0.0.1:${server.addr.port}/keys` },
    stolenToken: await stolen.sign(),
    rotate: async (port) => {
      keys = [fresh.publicKey];
      using connection = await HttpConnection.connect(port);
      const headers = { Authorization: `Bearer ${await fresh.sign()}` };
      await connection.exchange(requestBytes("GET /things?limit=1", { headers }), "GET");
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

export const rotatedKey: Attack = {
  name: "token of a rotated key",
  guards: {},
  openIssuer,
  start: async ({ port }, issuer) => {
    const headers = { Authorization: `Bearer ${issuer!.stolenToken}` };
    const request = requestBytes("GET /things?limit=1", { headers });
    await issuer!.rotate(port);
    return requestAttack({ port, clients: 4, request, method: "GET" });
  },
};
