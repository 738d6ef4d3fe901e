/**
 * The API beside an identity provider, both in one program, on an embedded database:
 *
 *     deno run -A examples/identity_provider/app.ts
 *
 * The provider signs a token for each request, so that there is something to try. Real providers, such as
 * Keycloak or Auth0, check a password before; `jwt-issuers` names them in the same way.
 *
 * @module
 */
import { createHandler } from "../../mod.ts";
import { type IdentityProvider, startProvider } from "./provider.ts";

const provider = await startProvider(Number(Deno.env.get("PROVIDER_PORT") ?? 9000));

const api = createHandler({
  dbUri: "pglite://memory",
  dbSchemas: ["api"],
  dbAnonRole: "web_anon",
  embeddedInit: await Deno.readTextFile(new URL("./notes.sql", import.meta.url)),
  jwtIssuers: [{
    issuer: provider.issuer,
    audience: "notes",
    role_claim: "$.groups",
    roles: { editors: "editor", "*": "reader" },
  }],
  jwtRevocations: { schema: "private", name: "revoked_tokens" },
  jwtCookieName: "token",
});

// The embedded database takes a few seconds to start, longer on a busy machine.
await api.ready();

const server = Deno.serve({
  hostname: "127.0.0.1",
  port: Number(Deno.env.get("PORT") ?? 3000),
  onListen: ({ port }) => console.log(instructions(`http://127.0.0.1:${port}`, provider)),
}, (request) => api(request));

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  Deno.addSignalListener(signal, () => void server.shutdown());
}
await server.finished;
await api.close();
await provider.stop();

/** Requests to try, one per line. */
function instructions(origin: string, { issuer }: IdentityProvider): string {
  return `Listening on ${origin}/
token=$(curl -s '${issuer}/token?sub=ada&groups=editors')
curl -s ${origin}/notes -H "Authorization: Bearer $token" -d 'text=hello'
curl -s ${origin}/notes -H "Cookie: token=$token"
curl -s ${origin}/rpc/log_out -H "Authorization: Bearer $token" -X POST
curl -s ${origin}/notes -H "Authorization: Bearer $token"`;
}
