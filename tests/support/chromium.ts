/**
 * A browser without a window, driven by its DevTools protocol
 * (https://chromedevtools.github.io/devtools-protocol/).
 *
 * @module
 */

/** Debian's package `chromium`. */
const executable = "/usr/bin/chromium";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--remote-debugging-port=0",
] as const;

/** Milliseconds after which what is waited for will not come. */
const giveUpAfter = 120_000;

/** A page that is open. */
export interface Page extends AsyncDisposable {
  /** Gives the value of an expression, which must be JSON; a promise is waited for. */
  evaluate(expression: string): Promise<unknown>;
  /** Waits until an expression is true. */
  until(expression: string): Promise<void>;
  /** Lines of the console's errors, and exceptions. */
  readonly problems: readonly string[];
}

/** Whether there is a browser. */
export function hasChromium(): boolean {
  try {
    return Deno.statSync(executable).isFile;
  } catch {
    return false;
  }
}

/** Opens a page in a browser of its own. */
export async function openPage(url: string): Promise<Page> {
  await using resources = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir({ prefix: "svc_chromium_" });
  resources.defer(() => Deno.remove(folder, { recursive: true }));
  const child = new Deno.Command(executable, {
    args: [...flags, `--user-data-dir=${folder}`, "about:blank"],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  resources.defer(async () => {
    child.kill("SIGKILL");
    await child.status;
    await settled(folder);
  });
  const socket = await connect(await endpoint(folder));
  resources.defer(() => closed(socket));
  const { send, problems } = protocol(socket);
  await send("Runtime.enable", {});
  await send("Log.enable", {});
  await send("Page.enable", {});
  await send("Page.navigate", { url });
  const owned = resources.move();
  const evaluate = async (expression: string) => {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await send("Runtime.evaluate", options);
    if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
    return result.value;
  };
  return {
    evaluate,
    problems,
    async until(expression) {
      const deadline = Date.now() + giveUpAfter;
      while (await evaluate(expression) !== true) {
        if (Date.now() > deadline) throw new Error(`not in time: ${expression}: ${problems}`);
        await pause();
      }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The WebSocket of the only page: the browser writes its port into its folder when it is ready. */
async function endpoint(folder: string): Promise<string> {
  for (const deadline = Date.now() + giveUpAfter; Date.now() < deadline; await pause()) {
    const text = await Deno.readTextFile(`${folder}/DevToolsActivePort`).catch(() => "");
    const [port, path] = text.split("\n");
    if (!port || !path) continue;
    const response = await fetch(`http://127.0.0.1:${port}/json/list`);
    const targets: readonly { type: string; webSocketDebuggerUrl: string }[] = await response
      .json();
    const page = targets.find(({ type }) => type === "page");
    if (page !== undefined) return page.webSocketDebuggerUrl;
  }
  throw new Error("the browser does not start");
}

function connect(url: string): Promise<WebSocket> {
  const socket = new WebSocket(url);
  return new Promise((resolve, reject) => {
    socket.onopen = () => resolve(socket);
    socket.onerror = () => reject(new Error("the browser does not answer"));
  });
}

function closed(socket: WebSocket): Promise<void> {
  return new Promise((resolve) => {
    socket.onclose = () => resolve();
    socket.close();
  });
}

/** The browser's children may write into its folder for a moment after it has ended. */
async function settled(folder: string): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt++) {
    try {
      for await (const entry of Deno.readDir(folder)) {
        await Deno.remove(`${folder}/${entry.name}`, { recursive: true });
      }
      return;
    } catch {
      await pause();
    }
  }
}

// deno-lint-ignore no-explicit-any
type Message = any;

function protocol(socket: WebSocket) {
  const waiting = new Map<number, (result: Message) => void>();
  const problems: string[] = [];
  let last = 0;
  socket.onmessage = ({ data }) => {
    const { id, method, params, result, error } = JSON.parse(data);
    waiting.get(id)?.(result ?? error);
    waiting.delete(id);
    if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.text);
    if (method === "Log.entryAdded" && params.entry.level === "error") {
      problems.push(params.entry.text);
    }
  };
  const send = (method: string, params: unknown): Promise<Message> =>
    new Promise((resolve) => {
      waiting.set(++last, resolve);
      socket.send(JSON.stringify({ id: last, method, params }));
    });
  return { send, problems };
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50));
}
