/**
 * A small identity provider: a discovery document, a key set and tokens.
 *
 * @module
 */
import { exportJWK, generateKeyPair, SignJWT } from "jose";

/** A provider that runs. */
export interface IdentityProvider {
  readonly issuer: string;
  stop(): Promise<void>;
}

/** Starts a provider with a new key on this machine. */
export async function startProvider(port: number): Promise<IdentityProvider> {
  const issuer = `http://127.0.0.1:${port}`;
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const keys = [{ ...await exportJWK(publicKey), kid: "1", alg: "ES256" }];

  async function sign(claims: URLSearchParams): Promise<Response> {
    const token = await new SignJWT({ groups: claims.getAll("groups") })
      .setProtectedHeader({ alg: "ES256", kid: "1" })
      .setIssuer(issuer)
      .setAudience("notes")
      .setSubject(claims.get("sub") ?? "unknown")
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(privateKey);
    return new Response(token);
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port, onListen: () => {} }, (request) => {
    const { pathname, searchParams } = new URL(request.url);
    switch (pathname) {
      case "/.well-known/openid-configuration":
        return Response.json({ issuer, jwks_uri: `${issuer}/keys` });
      case "/keys":
        return Response.json({ keys }, { headers: { "Cache-Control": "max-age=300" } });
      case "/token":
        return sign(searchParams);
      default:
        return new Response("Not found\n", { status: 404 });
    }
  });
  return { issuer, stop: () => server.shutdown() };
}
