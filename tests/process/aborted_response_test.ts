import { match, rejects, strictEqual } from "node:assert/strict";
import { engines } from "../support/database/engines.ts";
import { CutError, HttpConnection, requestBytes } from "../support/clients/http_connection.ts";
import { startService } from "../support/server/process.ts";

Deno.test("a failure while rows are sent leaves the body without its end, and is logged", async () => {
  await using resources = new AsyncDisposableStack();
  const database = await engines.pg({ name: "rows_form", roles: ["anon"] });
  resources.defer(() => database.remove());
  await using service = await startService({
    "db-uri": database.uri,
    "db-schemas": "api",
    "db-anon-role": "anon",
    "db-pool": 1,
  });
  await service.listening();
  const port = Number(new URL(service.origin).port);
  for (let time = 0; time < 2; time++) {
    using connection = await HttpConnection.connect(port);
    await rejects(connection.exchange(requestBytes("GET /grades"), "GET"), CutError);
    match(
      await service.stderr.waitFor(/Aborted/),
      /: Aborted the response to GET \/grades: \{"code":"22003",.*"message":"no such grade"\}$/,
    );
  }
  const response = await service.fetch("GET /numbers?id=eq.1&select=id");
  strictEqual(await response.text(), '[{"id":1}]');
});
