/** Starts an OpenID provider on loopback. @module */
import { fileURLToPath } from "node:url";
import { freePort } from "./free_port.ts";
import { type DenoProcess, startDeno } from "./process.ts";

/** A provider that runs. Disposing of it ends it. */
export interface OidcProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Gets an access token with the newest key, for a new client: a JWT for the audience `shop`. */
  token(): Promise<string>;
  /** Publishes a further key, and signs with it. */
  rotate(kid: string): Promise<void>;
  /** Ends the process; its port refuses connections. */
  stop(): Promise<void>;
  /** Starts the process again with a new key. */
  restart(kid: string): Promise<void>;
}

const script = fileURLToPath(new URL("./oidc_provider_server.ts", import.meta.url));

export async function startOidcProvider(): Promise<OidcProvider> {
  const port = freePort();
  const issuer = `http://127.0.0.1:${port}`;
  let running: DenoProcess = await start(port, "1");
  const post = async (path: string, body?: URLSearchParams) => {
    const credentials = btoa("app:the secret of the app");
    const response = await fetch(`${issuer}${path}`, {
      method: "POST",
      headers: { Authorization: `Basic ${credentials}` },
      body,
    });
    return await response.text();
  };
  const stop = async () => {
    await running.stop("SIGKILL");
  };
  return {
    issuer,
    async token() {
      const form = new URLSearchParams({ grant_type: "client_credentials", scope: "api" });
      return JSON.parse(await post("/token", form)).access_token;
    },
    rotate: async (kid) => void await post(`/rotate?kid=${kid}`),
    stop,
    async restart(kid) {
      await running[Symbol.asyncDispose]();
      running = await start(port, kid);
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

async function start(port: number, kid: string): Promise<DenoProcess> {
  const started = startDeno(["run", "-A", "--quiet", script, String(port), kid]);
  await started.stdout.waitFor(/listening/);
  return started;
}
