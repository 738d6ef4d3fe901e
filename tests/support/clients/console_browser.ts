/** A browser that shows the console of a service. @module */
import axe from "axe-core";
import { strictEqual } from "node:assert/strict";
import { chromium, type Locator, type Page } from "playwright-core";

/** Debian's package `chromium`. */
const executablePath = "/usr/bin/chromium";

/** Whether there is a browser. */
export function hasChromium(): boolean {
  try {
    return Deno.statSync(executablePath).isFile;
  } catch {
    return false;
  }
}

/** Waits until a change of the fragment is drawn, and its effects have begun. */
const threeFrames = `new Promise((resolve) => {
  const next = (left) => left === 0 ? resolve() : requestAnimationFrame(() => next(left - 1));
  next(3);
})`;

/** Waits until as many elements are shown: a page draws them after the element that names them. */
export async function hasCount(locator: Locator, count: number): Promise<void> {
  await locator.nth(count - 1).waitFor();
  strictEqual(await locator.count(), count);
}

/** A browser with one page. */
export interface ConsoleBrowser extends AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts, and violations of the page's policy. */
  readonly problems: readonly string[];
  /** Opens a page of the console, and waits until it shows its content. */
  open(hash: string): Promise<void>;
  /** Returns a cell of the grid by row and column, counted from 0. */
  cell(row: number, column: number): Locator;
  /** Changes the width of the window and the preferred theme. */
  look(look: { readonly width: number; readonly theme: "light" | "dark" }): Promise<void>;
  /** Target of the last request to the API below a path. */
  lastApiTarget(path: string): string | null;
  /** URLs of other hosts that the page requested. */
  foreignRequests(): readonly string[];
  /** Returns violations of WCAG 2.2 AA with the elements. */
  violations(): Promise<readonly string[]>;
  scrollWidth(): Promise<number>;
}

/** Opens a browser. `token` is the token of the API. */
export async function openConsole(
  origin: string,
  { token = null }: { readonly token?: string | null } = {},
): Promise<ConsoleBrowser> {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  const requests: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted ?Type/i.test(message.text())) {
      problems.push(message.text());
    }
  });
  page.on("request", (request) => requests.push(request.url()));
  if (token !== null) {
    const script = `sessionStorage.setItem("svc-token", ${JSON.stringify(token)})`;
    await context.addInitScript({ content: script });
  }
  await page.goto(`${origin}/`);
  return {
    page,
    problems,
    async open(hash) {
      await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
      await page.evaluate(threeFrames);
      await page.locator("main h1").first().waitFor();
      await page.locator("main .loading, main .is-busy").first().waitFor({ state: "detached" });
    },
    cell: (row, column) => page.locator(`[data-place="${row},${column}"]`),
    async look({ width, theme }) {
      await page.setViewportSize({ width, height: 900 });
      await page.emulateMedia({ colorScheme: theme });
    },
    lastApiTarget: (path) => {
      const prefix = `${origin}/console/api`;
      return requests.findLast((url) => url.startsWith(`${prefix}${path}?`))?.slice(
        prefix.length,
      ) ??
        null;
    },
    foreignRequests: () =>
      requests.filter((url) => !url.startsWith(`${origin}/`) && !/^(data|blob):/.test(url)),
    async violations() {
      await page.evaluate(axe.source);
      const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
      const script = `axe.run({ runOnly: ${JSON.stringify(tags)} }).then(({ violations }) =>
        violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 200))))`;
      return await page.evaluate(script);
    },
    scrollWidth: () => page.evaluate("document.documentElement.scrollWidth"),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}
