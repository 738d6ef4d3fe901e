/**
 * A pool over connections that answer one batch at a time, when the test says so.
 *
 * @module
 */
import { createPool, type PoolOptions } from "../../src/database/pool.ts";
import { FakeTransport, row, type Sent, wellBehaved } from "./fake_backend.ts";

/** Opens it; the main statement is `select main`. */
export function openFakePool(options: Partial<PoolOptions> = {}) {
  const transports: FakeTransport[] = [];
  const replies: (() => void)[] = [];
  const pool = createPool({
    max: 1,
    acquisitionTimeout: 1000,
    maxIdleTime: Infinity,
    maxLifetime: Infinity,
    prepare: true,
    preparedLimit: 10,
    now: () => 0,
    // All takes no time, as far as it is measured.
    clock: () => 0,
    connect: () => {
      const transport = new FakeTransport();
      const behaved = wellBehaved(row("1", "x"), (sql) => sql === "select main");
      transport.reply = (sent) => {
        let batch: Sent[] = [];
        for (const message of sent) {
          batch.push(message);
          if (message.type !== "S") continue;
          const reply = behaved(batch);
          replies.push(() => transport.tell(reply));
          batch = [];
        }
        return null;
      };
      transports.push(transport);
      return Promise.resolve(transport);
    },
    ...options,
  });
  return { pool, transports, replies, serve: () => replies.shift()?.() };
}
