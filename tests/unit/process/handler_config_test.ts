import { deepStrictEqual } from "node:assert/strict";
import { handlerConfig } from "../../../tools/build/handler_config.ts";

const folder = new URL("../../../src/process/", import.meta.url);

Deno.test("handlerConfig() declares the options that HandlerConfig has, and their types", async () => {
  const file = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    const declared = handlerConfig().replaceAll('from "../', `from "${new URL("../", folder)}`);
    const derived = `import("${folder}handler_config.ts").HandlerConfig`;
    await Deno.writeTextFile(
      file,
      `${declared}
export const widened = (given: Required<HandlerConfig>): Required<${derived}> => given;
export const narrowed = (given: Required<${derived}>): Required<HandlerConfig> => given;
`,
    );
    const config = new URL("../../../deno.json", import.meta.url).pathname;
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--quiet", "--config", config, file],
      env: { NO_COLOR: "1" },
    }).output();
    deepStrictEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
  } finally {
    await Deno.remove(file);
  }
});
