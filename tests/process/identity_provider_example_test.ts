import { deepStrictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { freePort } from "../support/server/free_port.ts";
import { startDeno } from "../support/server/process.ts";

const app = fileURLToPath(new URL("../../examples/identity_provider/app.ts", import.meta.url));

Deno.test("the example with an identity provider prints requests that work", async () => {
  const env = { PORT: String(freePort()), PROVIDER_PORT: String(freePort()) };
  await using example = startDeno(["run", "-A", app], { env });
  await example.stdout.waitFor(/notes -H "Authorization: Bearer \$token"$/, { seconds: 120 });
  const lines = example.stdout.all.filter((line) => /^(?:token=\$\()?curl /.test(line));
  // The notification of the revocation arrives some time after the answer of the function.
  const last = lines.at(-1);
  const script = [...lines.slice(0, -1), `until ${last} | grep -q revoked; do :; done`, last];
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script.join('; echo "|"; ')] })
    .output();
  const answers = new TextDecoder().decode(stdout).split("|").map((text) => text.trim());
  deepStrictEqual(answers, [
    "",
    "",
    '[{"id":1,"text":"hello","author":"ada"}]',
    "",
    "",
    '{"code":"SVC301","details":null,"hint":null,"message":"JWT was revoked"}',
  ]);
});
