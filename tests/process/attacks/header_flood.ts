/** Requests with large headers and long URLs. */
import { requestBytes } from "../../support/clients/http_connection.ts";
import type { Attack } from "./attack.ts";
import { requestAttack } from "./requests.ts";

const headers = Object.fromEntries(
  Array.from({ length: 80 }, (_, index) => [`X-Flood-${index}`, "a".repeat(600)]),
);

export const headerFlood: Attack = {
  name: "header flood",
  guards: { "server-max-header-size": "8k", "server-max-url-length": "8k" },
  start: ({ port }) => {
    const request = requestBytes("GET /things?limit=1", { headers });
    return requestAttack({ port, clients: 8, request, method: "GET" });
  },
};
