/** A stolen token that its owner has revoked. */
import { requestBytes } from "../../support/clients/http_connection.ts";
import { signToken, testSecret } from "../../support/handler/token.ts";
import type { Attack } from "./attack.ts";
import { requestAttack } from "./requests.ts";

export const replayedToken: Attack = {
  name: "replayed token",
  sql: `
    create schema private;
    create table private.revoked (claim text, value text, issued_before bigint, until timestamptz);
    insert into private.revoked values ('jti', 'stolen', null, null);
    grant usage on schema private to authenticator;
    grant select on private.revoked to authenticator;`,
  config: { "jwt-secret": testSecret },
  guards: { "jwt-revocations": "private.revoked" },
  start: async ({ port }) => {
    const token = await signToken({ role: "anon", jti: "stolen" });
    const headers = { Authorization: `Bearer ${token}` };
    const request = requestBytes("GET /things?limit=1", { headers });
    return requestAttack({ port, clients: 4, request, method: "GET" });
  },
};
