import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { hasChromium } from "../support/clients/console_browser.ts";
import { freePort } from "../support/server/free_port.ts";
import { startDeno } from "../support/server/process.ts";
import { readCurl } from "../support/docs/curl.ts";
import { codeBlocks } from "../support/docs/markdown.ts";
import { programFolder } from "../support/server/program.ts";

const file = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

Deno.test("examples/shop/live/live.sql is what svc init --live prints", async () => {
  await using folder = await programFolder();
  const list = "--live=orders:customer_id,lines,products,customers,memberships";
  const { stdout } = await folder.run(["init", file("examples/shop/svc.conf"), list], {});
  strictEqual(stdout, await Deno.readTextFile(file("examples/shop/live/live.sql")));
});

Deno.test("examples/shop/live shows a customer and the staff their orders of the day", async (t) => {
  const port = freePort();
  const env = { PORT: String(port) };
  await using app = startDeno(["run", "-A", file("examples/shop/live/serve.ts")], { env });
  await app.stdout.waitFor(/^Listening on/, { seconds: 120 });
  await t.step("docs/how-to/live.md shows the messages of a stream", () => checkStream(port));
  await t.step({
    name: "a page of two users",
    ignore: !hasChromium(),
    fn: () => checkPage(port),
  });
  await app.stop("SIGTERM");
});

/** Sends the requests of the guide, and reads the stream of the first one. */
async function checkStream(port: number): Promise<void> {
  const path = "docs/how-to/live.md";
  const blocks = codeBlocks({ path, text: await Deno.readTextFile(file(path)) });
  const at = blocks.findIndex(({ flags }) => flags.includes("live"));
  const [watch, rows, change, update] = blocks.slice(at, at + 4)
    .map(({ text }) => text.replace("localhost:3000", `127.0.0.1:${port}`));
  const response = await fetch(readCurl(watch!).request);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  /** Reads up to the end of a group of messages. */
  const readGroup = async () => {
    let text = "";
    while (!text.includes('"up-to-date"')) {
      const { value, done } = await reader.read();
      ok(!done, `the stream ended: ${text}`);
      text += value;
    }
    return text;
  };
  const pattern = (block = "") => new RegExp(RegExp.escape(block.trim()).replaceAll("…", ".+"));
  match(await readGroup(), pattern(rows));
  strictEqual((await fetch(readCurl(change!).request)).status, 204);
  match(await readGroup(), pattern(update));
  await reader.cancel();
}

async function checkPage(port: number): Promise<void> {
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1100, height: 700 } });
    page.setDefaultTimeout(60_000);
    const problems: string[] = [];
    page.on("pageerror", ({ message }) => void problems.push(message));
    await page.goto(`http://127.0.0.1:${port}/`);
    const [customer, staff] = [page.locator("#customer"), page.locator("#staff")];
    await customer.getByText("Up to date").waitFor();
    await staff.getByText("Up to date").waitFor();
    await page.getByRole("button", { name: "Order a chair" }).click();
    await customer.getByText("4001: new").waitFor();
    await staff.getByText("4001: new").waitFor();
    await staff.getByRole("button", { name: "Mark as paid" }).click();
    await customer.getByText("4001: paid").waitFor();
    await page.getByRole("button", { name: "An order of another customer" }).click();
    await staff.getByText("4002: new").waitFor();
    await staff.getByRole("button", { name: "Mark as sent" }).click();
    await customer.getByText("4001: sent").waitFor();
    deepStrictEqual(await customer.getByRole("listitem").allTextContents(), [
      "4001: sentAda Lind: 1 × Small oak chair",
    ]);
    const picture = Deno.env.get("SVC_TEST_PICTURE");
    if (picture !== undefined) await page.screenshot({ path: picture });
    deepStrictEqual(problems, []);
  } finally {
    await browser.close();
  }
}
