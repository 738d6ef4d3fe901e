/** The tutorial "Serve your own database", step by step as it stands there. */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { withClient } from "../support/database/postgres_client.ts";
import { startPostgres } from "../support/database/postgres_server.ts";
import { readCurl } from "../support/docs/curl.ts";
import { codeBlocks, root } from "../support/docs/markdown.ts";
import { freePort } from "../support/server/free_port.ts";
import { startService } from "../support/server/process.ts";
import { findScript, programFolder } from "../support/server/program.ts";

const path = "docs/tutorials/own-database.md";

Deno.test({
  name: `${path} leads to an API with a policy`,
  ignore: !findScript(),
  fn: async () => {
    const blocks = codeBlocks({ path, text: await Deno.readTextFile(`${root}${path}`) });
    await using server = await startPostgres({ cluster: "copied" });
    const uri = new URL(server.uri());
    await withClient(uri.href, (client) => client.query("create database shop"));
    uri.pathname = "/shop";
    await withClient(
      uri.href,
      (client) => client.query(blocks.find(({ language }) => language === "sql")!.text),
    );

    await using folder = await programFolder();
    const questions = blocks.find(({ flags }) => flags.includes("questions"))!.text.trim();
    const lines = questions.split("\n");
    // An answer follows the default; without one, Enter takes the default.
    const answers = lines.flatMap((line) => /\[\w+\]: ?(.*)$/.exec(line)?.[1] ?? []);
    const { code, output } = await folder.runOnTerminal(
      ["init", "--apply"],
      [...answers, "y"],
      { SVC_DB_URI: uri.href },
    );
    strictEqual(code, 0, output);
    const shown = output.replaceAll("\r", "");
    for (const line of lines) ok(shown.includes(line.trimEnd()), `${line}\n${output}`);

    const ports = { api: freePort(), admin: freePort() };
    const configText = (await folder.read("svc.conf"))
      .replace(/^server-port.*$/m, `server-port = ${ports.api}`)
      .replace(/^admin-server-port.*$/m, `admin-server-port = ${ports.admin}`);
    await folder.write("svc.conf", configText);
    const token = await folder.run(["token", "--role=web_user", "--claim=sub=ada"]);
    strictEqual(token.stderr, "");
    await using service = await startService({}, { configText });
    await service.stderr.waitFor(/API server listening on/);
    for (const [at, { flags, text }] of blocks.entries()) {
      if (!flags.includes("own")) continue;
      const command = text.replace("127.0.0.1:3000", `127.0.0.1:${ports.api}`);
      const response = await fetch(readCurl(command, { TOKEN: token.stdout.trim() }).request);
      deepStrictEqual(await response.json(), JSON.parse(blocks[at + 1]!.text), blocks[at]!.place);
    }
  },
});
