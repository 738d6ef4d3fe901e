import { strictEqual } from "node:assert/strict";
import type { Config } from "../../../src/config/options.ts";
import type { HandlerConfig } from "../../../src/config/handler_config.ts";
import { handlerConfig } from "../../../tools/docs/handler_config.ts";

Deno.test("handler_config.ts is up to date", async () => {
  const file = new URL("../../../src/config/handler_config.ts", import.meta.url);
  const squeezed = (text: string) => text.replace(/\s+|;/g, " ").replace(/ +/g, " ");
  strictEqual(
    squeezed(await Deno.readTextFile(file)),
    squeezed(handlerConfig()),
    "run `deno task generate`",
  );
});

Deno.test("HandlerConfig has the types of the configuration", () => {
  const widened = (given: Required<HandlerConfig>): Partial<Config> => given;
  strictEqual(typeof widened, "function");
});
