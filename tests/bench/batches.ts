/**
 * Takes from the service the statements that it sends for requests, and a connection to send them by.
 *
 * @module
 */
import { configSource, noValues } from "../../src/config/source.ts";
import type { Batch, Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open.ts";
import { serviceHandler } from "../../src/handler.ts";
import { Service } from "../../src/service.ts";
import { configText, type FileConfig } from "../support/process.ts";

/** A service in this process. Disposing of it ends its connections. */
export interface BatchSource extends AsyncDisposable {
  /** Sends batches as the service does. */
  readonly send: Database["transaction"];
  /** The transaction that a request is answered by. Raises an `Error` unless it ends well. */
  batchOf(request: Request): Promise<Batch>;
}

/** Starts a service in this process with the configuration of a file. */
export async function openBatchSource(file: FileConfig): Promise<BatchSource> {
  const source = configSource({
    file: { path: "bench.conf", text: configText(file) },
    environment: {},
    readFile: Deno.readFileSync,
  });
  const config = source.configure(noValues);
  const now = Date.now;
  const applicationName = "bench";
  const database = await openDatabase(config, { embeddedInit: null, applicationName, now });
  const send: Database["transaction"] = database.transaction.bind(database);
  let last: Batch | null = null;
  Object.assign(database, { transaction: (batch: Batch) => send(last = batch) });
  const service = await Service.create({ source: () => source, database, now, observe: () => {} });
  await service.reloadSchema();
  const handle = serviceHandler(service);
  return {
    send,
    batchOf: async (request) => {
      const response = await handle(request);
      if (!response.ok) throw new Error(`${request.url}: ${await response.text()}`);
      await response.body?.cancel();
      const { signal: _ended, ...batch } = last!;
      return batch;
    },
    [Symbol.asyncDispose]: () => service.close(),
  };
}
