/** Serves the accounts of a page: `serve_auth.js <page> <port>`. */
const [page, port] = Deno.args;
const [, code] = /^```js auth\.js\n([^]*?)^```$/m.exec(await Deno.readTextFile(page));
const { auth } = await import(`data:application/javascript,${encodeURIComponent(code)}`);
Deno.serve({ hostname: "127.0.0.1", port: Number(port) }, auth.handler);
