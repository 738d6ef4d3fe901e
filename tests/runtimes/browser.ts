/** The suite in a browser: a page that runs the handler on PostgreSQL in the page and reports.
 * @module */
import { join } from "node:path";
import { serveFile } from "../../examples/browser/serve.ts";
import { bundle } from "../../tools/build/build.ts";
import type { Outcome } from "./places.ts";
import { suiteKeys, suiteSecret } from "./cases.ts";
import type { Report } from "./suite.ts";

/** Where the browser's files go, and what fills the database. */
export interface BrowserPlace {
  readonly folder: string;
  readonly sql: string;
}

const flags = [
  ...["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"],
  ...["--disable-background-networking", "--disable-component-update", "--disable-sync"],
];

/** Runs the suite in headless Chromium, if that is installed. */
export async function runInBrowser({ folder, sql }: BrowserPlace): Promise<Outcome> {
  const version = await chromiumVersion();
  if (version === null) return { version: "", reason: "chromium is not installed" };
  const suite = join(folder, "suite.js");
  await bundle("tests/runtimes/suite.ts", suite);
  const reported = Promise.withResolvers<Report>();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      switch (new URL(request.url).pathname) {
        case "/suite":
          return new Response(page, { headers: { "Content-Type": "text/html; charset=utf-8" } });
        case "/suite.js":
          return new Response(await Deno.readFile(suite), {
            headers: { "Content-Type": "text/javascript" },
          });
        case "/settings":
          return Response.json({ sql, secret: suiteSecret });
        case "/keys":
          return Response.json(suiteKeys);
        case "/report":
          reported.resolve(await request.json());
          return new Response();
        default:
          return await serveFile(request);
      }
    },
  );
  const browser = new Deno.Command("chromium", {
    args: [
      ...flags,
      `--user-data-dir=${join(folder, "profile")}`,
      `http://127.0.0.1:${server.addr.port}/suite`,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  try {
    return { version, report: await reported.promise };
  } finally {
    browser.kill("SIGTERM");
    await browser.status;
  }
}

async function chromiumVersion(): Promise<string | null> {
  try {
    const { stdout } = await new Deno.Command("chromium", { args: ["--version"] }).output();
    return /[0-9.]+/.exec(new TextDecoder().decode(stdout))?.[0] ?? "";
  } catch {
    return null;
  }
}

const page = `<!DOCTYPE html>
<meta charset="utf-8">
<script type="importmap">
  { "imports": { "@electric-sql/pglite": "/pglite/index.js" } }
</script>
<script type="module">
  const post = (report) => fetch("/report", { method: "POST", body: JSON.stringify(report) });
  try {
    const { createHandler } = await import("/svc.js");
    const { runSuite } = await import("/suite.js");
    const { sql, secret } = await (await fetch("/settings")).json();
    const api = createHandler({
      dbUri: "pglite://memory",
      dbSchemas: ["api"],
      dbAnonRole: "anon",
      serverQueryMethod: true,
      jwtSecret: secret,
      jwtJwksUrl: location.origin + "/keys",
      embeddedInit: sql,
    });
    await api.ready();
    await post(await runSuite(api, { base: "http://localhost", cancels: false, sendsCookies: false }));
  } catch (error) {
    await post({ passed: 0, failed: [String(error.stack ?? error)], skipped: [] });
  }
</script>
`;
