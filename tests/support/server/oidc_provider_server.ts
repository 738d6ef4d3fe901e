/**
 * An OpenID provider as a process: `npm:oidc-provider` with keys that rotate on request.
 *
 * Arguments: the port, and the `kid` of the first key. `POST /rotate?kid=2` publishes a further key and signs with
 * it.
 *
 * @module
 */
import { createServer } from "node:http";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import { Provider } from "oidc-provider";

const [port = "0", firstKid = "1"] = Deno.args;
const issuer = `http://127.0.0.1:${port}`;

async function makeKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  return { ...await exportJWK(privateKey), kid, alg: "RS256", use: "sig" };
}

/** Makes a provider that signs with the first key. Tokens of clients are JWTs for the audience `shop`. */
function makeProvider(keys: readonly JWK[]): Provider {
  return new Provider(issuer, {
    jwks: { keys: [...keys] as never },
    clients: [{
      client_id: "app",
      client_secret: "the secret of the app",
      grant_types: ["client_credentials"],
      redirect_uris: [],
      response_types: [],
    }],
    extraTokenClaims: () => ({ role: "writer" }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => "https://api.test",
        getResourceServerInfo: () => ({
          scope: "api",
          audience: "shop",
          accessTokenFormat: "jwt",
          accessTokenTTL: 3600,
          jwt: { sign: { alg: "RS256" } },
        }),
      },
    },
  });
}

let keys = [await makeKey(firstKid)];
let provider = makeProvider(keys);

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? "/", issuer);
  if (request.method === "POST" && pathname === "/rotate") {
    keys = [await makeKey(searchParams.get("kid") ?? ""), ...keys];
    provider = makeProvider(keys);
    response.end();
    return;
  }
  provider.callback()(request, response);
});
server.listen(Number(port), "127.0.0.1", () => console.log("listening"));
