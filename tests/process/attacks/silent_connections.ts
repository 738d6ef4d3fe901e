/** Connections that a client opens and keeps, with a part of a request or with nothing. @module */
import { delay } from "../../support/timing/delay.ts";
import { RawClient } from "../../support/clients/raw_client.ts";
import type { RunningAttack } from "./attack.ts";

/** How the connections of an attack behave. */
export interface SilentOptions {
  readonly port: number;
  /** Open connections that the attacker wants to have. It replaces those that the service closes. */
  readonly connections: number;
  /** The first bytes of each. */
  readonly start: string;
  /** Bytes that follow from time to time; empty for none. */
  readonly more: string;
}

/** Milliseconds between two further pieces, and while connections are missing. */
const [pauseMs, shortPauseMs] = [250, 20];
const openedAtOnce = 100;

/** Opens the connections and keeps them open. */
export function silentConnections(
  { port, connections, start, more }: SilentOptions,
): RunningAttack {
  const open = new Set<RawClient>();
  let closed = 0;
  let refused = 0;
  let isStopping = false;
  const connect = async () => {
    try {
      const client = await RawClient.connect(port);
      open.add(client);
      await client.send(start);
      // It ends when the service closes the connection.
      void client.read().then(() => {
        if (!open.delete(client)) return;
        client.close();
        if (!isStopping) closed++;
      });
    } catch {
      refused++;
    }
  };
  const underway = Promise.withResolvers<void>();
  const run = async () => {
    for (let round = 1; !isStopping; round++) {
      const missing = connections - open.size;
      await Promise.all(Array.from({ length: Math.min(missing, openedAtOnce) }, connect));
      // The service may refuse some of them for ever.
      if (missing <= openedAtOnce || round * openedAtOnce >= 2 * connections) underway.resolve();
      for (const client of more === "" ? [] : [...open]) client.send(more).catch(() => {});
      await delay(missing <= openedAtOnce ? pauseMs : shortPauseMs);
    }
  };
  const ended = run();
  return {
    underway: underway.promise,
    stop: async () => {
      isStopping = true;
      await ended;
      const held = open.size;
      for (const client of open) client.close();
      open.clear();
      return `${held} connections held, ${closed} closed by the service, ${refused} refused`;
    },
  };
}
