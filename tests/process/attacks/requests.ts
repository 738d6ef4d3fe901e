/** Attacks that consist of whole requests. @module */
import { CutError, HttpConnection } from "../../support/clients/http_connection.ts";
import { errorCode } from "../faults/tally.ts";
import { attackers, Counter, type RunningAttack } from "./attack.ts";

/** Sends a request from several clients, again and again, and counts the answers. */
export function requestAttack(
  { port, clients, request, method }: {
    readonly port: number;
    readonly clients: number;
    readonly request: Uint8Array;
    readonly method: string;
  },
): RunningAttack {
  const counter = new Counter();
  const began = Promise.withResolvers<void>();
  const idle: HttpConnection[] = [];
  const running = attackers(clients, async () => {
    let connection: HttpConnection | null = null;
    try {
      connection = idle.pop() ?? await HttpConnection.connect(port);
      const answer = await connection.exchange(request, method);
      counter.add(`${answer.status} ${errorCode(answer)}`.trim());
    } catch (error) {
      if (!(error instanceof CutError) && !(error instanceof Deno.errors.ConnectionRefused)) {
        throw error;
      }
      counter.add("no answer");
    }
    began.resolve();
    if (connection?.open) idle.push(connection);
  });
  return {
    underway: began.promise,
    stop: async () => {
      await running.stop();
      for (const connection of idle) connection.close();
      return counter.text();
    },
  };
}
