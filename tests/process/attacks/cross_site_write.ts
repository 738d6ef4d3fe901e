/** A page of another site that makes a browser write with the victim's cookie. */
import { requestBytes } from "../../support/clients/http_connection.ts";
import { signToken, testSecret } from "../../support/handler/token.ts";
import type { Attack } from "./attack.ts";
import { requestAttack } from "./requests.ts";

export const crossSiteWrite: Attack = {
  name: "cross-site write with a cookie",
  config: { "jwt-secret": testSecret },
  guards: { "jwt-cookie-name": "token" },
  start: async ({ port }) => {
    const request = requestBytes("POST /marks", {
      headers: {
        Cookie: `token=${await signToken({ role: "anon" })}`,
        Origin: "https://evil.example",
        "Sec-Fetch-Site": "cross-site",
      },
      body: { mark: 1 },
    });
    return requestAttack({ port, clients: 4, request, method: "POST" });
  },
};
