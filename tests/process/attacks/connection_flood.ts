/** Connections without a byte. */
import type { Attack } from "./attack.ts";
import { silentConnections } from "./silent_connections.ts";

export const connectionFlood: Attack = {
  name: "connection flood",
  guards: { "server-max-connections": 200 },
  descriptors: 300,
  start: ({ port }) => silentConnections({ port, connections: 2000, start: "", more: "" }),
};
