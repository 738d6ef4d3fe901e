/** A handler whose requests share one connection, so that the state that one leaves affects the
 * next one. @module */
import type { HandlerOptions } from "../../../mod.ts";
import { type Administered, withAdministeredHandler } from "../handler/administered_handler.ts";
import { buildRequest, type RequestParts } from "../handler/request.ts";
import { testSecret } from "../handler/token.ts";

/** What a test works with. */
export interface OneConnection extends Administered {
  /** Status and body, as JSON if it is that. */
  readonly ask: (line: string, parts?: RequestParts) => Promise<readonly [number, unknown]>;
}

/** Registers a test over a database that was given `sql`. There is no news of changes. */
export function testOneConnection(
  name: string,
  { sql, ...config }: { readonly sql: string } & Pick<HandlerOptions, "dbPreConfig" | "observe">,
  run: (setup: OneConnection) => Promise<void>,
): void {
  const all = {
    ...config,
    dbSchemas: ["api"],
    jwtSecret: testSecret,
    dbPool: 1,
    dbChannelEnabled: false,
  };
  Deno.test(name, () =>
    withAdministeredHandler(sql, all, (administered) => {
      const ask: OneConnection["ask"] = async (line, parts) => {
        const request = await buildRequest({ line, origin: "http://h" }, parts);
        const response = await administered.handler(request);
        const text = await response.text();
        return [
          response.status,
          text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text,
        ];
      };
      return run({ ...administered, ask });
    }));
}
