/** Starts nginx as a shared cache before a server, where it is installed. @module */
import { join } from "node:path";
import { guardedFolder } from "../runner/guarded_folder.ts";
import { eventually } from "../timing/eventually.ts";
import { freePort } from "./free_port.ts";
import { startCommand } from "./process.ts";

/** A running cache. */
export interface CachingNginx extends AsyncDisposable {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
}

/**
 * Starts a cache that stores what nothing forbids to store, also answers to requests with a token. Answers have
 * `X-Cache: HIT` or another word. Requests with unlike `X-Part` share no entry. `stored`: statuses, or `any`.
 */
export async function startCachingNginx(
  program: string,
  { upstream, stored }: { readonly upstream: string; readonly stored: string },
): Promise<CachingNginx> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(await guardedFolder("svc_nginx_"));
  const port = freePort();
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${folder.path}/${name};`).join("\n      ");
  const file = join(folder.path, "nginx.conf");
  await Deno.writeTextFile(
    file,
    `
    daemon off;
    master_process off;
    pid ${folder.path}/pid;
    events {}
    http {
      access_log off;
      ${temporary}
      proxy_cache_path ${folder.path}/cache keys_zone=answers:1m;
      server {
        listen 127.0.0.1:${port};
        location / {
          proxy_pass ${upstream};
          # Else nginx asks for the whole, and answers ranges of bytes itself.
          proxy_set_header Range $http_range;
          proxy_cache answers;
          proxy_cache_key $http_x_part$request_uri;
          proxy_cache_valid ${stored} 1m;
          add_header X-Cache $upstream_cache_status always;
        }
      }
    }`,
  );
  resources.use(startCommand([program, "-e", "stderr", "-p", folder.path, "-c", file]));
  await eventually("nginx listens", async () => {
    try {
      (await Deno.connect({ port })).close();
      return true;
    } catch {
      return false;
    }
  });
  const owned = resources.move();
  return {
    origin: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
