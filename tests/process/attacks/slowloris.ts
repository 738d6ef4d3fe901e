/** Half-sent headers that grow by a line from time to time. */
import type { Attack } from "./attack.ts";
import { silentConnections } from "./silent_connections.ts";

export const slowloris: Attack = {
  name: "Slowloris",
  guards: {
    "server-header-timeout": "2s",
    "server-idle-timeout": "30s",
    "server-max-connections": 200,
  },
  descriptors: 300,
  start: ({ port }) =>
    silentConnections({
      port,
      connections: 500,
      start: "GET /things HTTP/1.1\r\nHost: localhost\r\n",
      more: "X-More: a\r\n",
    }),
};
