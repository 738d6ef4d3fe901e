/** Answers each request with an empty response. Its argument is a configuration file. @module */
const [path = ""] = Deno.args;
const [, port] = /server-port *= *"?(\d+)/.exec(await Deno.readTextFile(path)) ?? [];

Deno.serve({ port: Number(port), hostname: "127.0.0.1", onListen() {} }, () => new Response());
