/**
 * Serves the example Worker in Cloudflare's runtime, by Miniflare, which runs in Node:
 * `node serve_worker.mjs <folder of package.json> <bindings as JSON> [bundle of another Worker]`.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const [folder, bindings, bundle] = process.argv.slice(2);
const { Miniflare } = createRequire(`${folder}/package.json`)("miniflare");
const root = new URL("../../", import.meta.url);
const settings = readFileSync(new URL("examples/worker/wrangler.toml", root), "utf8");
const setting = (name) => JSON.parse(new RegExp(`^${name} = (.*)$`, "m").exec(settings)[1]);

const rootFolder = fileURLToPath(root);

/** Aborts a request after the milliseconds that a header says. */
const main = `
  import worker from "./examples/worker/worker.js";
  export default {
    fetch(request, env, context) {
      const limit = request.headers.get("X-Abort-After");
      if (limit === null) return worker.fetch(request, env, context);
      const signal = AbortSignal.timeout(Number(limit));
      return worker.fetch(new Request(request, { signal }), env, context);
    },
  };
`;

const example = [{ type: "ESModule", path: `${rootFolder}main.js`, contents: main }].concat(
  ["examples/worker/worker.js", "dist/svc.js"].map((path) => ({
    type: "ESModule",
    path: rootFolder + path,
  })),
);

const miniflare = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  compatibilityDate: setting("compatibility_date"),
  compatibilityFlags: setting("compatibility_flags"),
  modulesRoot: bundle === undefined ? rootFolder : folder,
  modules: bundle === undefined ? example : [{ type: "ESModule", path: bundle }],
  bindings: JSON.parse(bindings),
});
console.log(`Listening on ${await miniflare.ready}`);

process.on("SIGTERM", async () => {
  await miniflare.dispose();
  process.exit(0);
});
