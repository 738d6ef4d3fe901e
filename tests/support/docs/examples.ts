/**
 * Runs the `curl` blocks of a page against the example databases, and compares their answers.
 *
 * A block ` ```sh todos ` or ` ```sh shop ` holds one command; the next block is its answer. Writes
 * of a page stay for the blocks below. Pages that only read share one server. `$TOKEN` and `$STAFF`
 * are tokens, `$ETAG` is the last entity tag.
 *
 * @module
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { createHandler, type Handler } from "../../../mod.ts";
import { examples as demos } from "../../../src/process/cli/examples.ts";
import { copyPostgres, engines, type TestDatabase } from "../database/engines.ts";
import { withClient } from "../database/postgres_client.ts";
import { signToken, testSecret } from "../handler/token.ts";
import { type CurlRequest, readCurl } from "./curl.ts";
import { type CodeBlock, codeBlocks, root } from "./markdown.ts";

/** What the configuration file of the shop sets. */
const shop = {
  batchMaxOperations: 100,
  clientErrorVerbosity: "advise",
  dbAggregatesEnabled: true,
  dbCommentTags: true,
  dbMaxRows: 1000,
  etagMode: "on",
  idempotencyTable: { schema: "app", name: "idempotency_keys" },
  openapiVersion: "3.1",
  serverQueryMethod: true,
} as const;

/** The example databases. `page` is one whose SQL runs in the database first. */
export const examples = {
  todos: { file: "examples/todos/todos.sql", demo: "todos", page: null, options: {} },
  shop: { file: "examples/shop/shop.sql", demo: "shop", page: null, options: shop },
  versions: {
    file: "examples/shop/shop.sql",
    demo: "shop",
    page: "docs/how-to/version-an-api.md",
    options: { ...shop, dbSchemas: ["v2 < api"] },
  },
  files: {
    file: "examples/shop/shop.sql",
    demo: "shop",
    page: "docs/how-to/serve-files-and-images.md",
    options: shop,
  },
  supabase: {
    file: "examples/shop/shop.sql",
    demo: "shop",
    page: null,
    options: { ...shop, serverPathPrefix: "/rest/v1", jwtApikeyHeader: true },
  },
} as const;

export type ExampleName = keyof typeof examples;

/** A command, and the block with its answer. */
export interface Exchange {
  readonly example: ExampleName;
  readonly command: CodeBlock;
  readonly answer: CodeBlock | null;
}

/** Returns the commands of a page with their answers. */
export function exchangesOf(blocks: readonly CodeBlock[]): readonly Exchange[] {
  return blocks.flatMap((command, index) => {
    const example = command.flags.find((flag): flag is ExampleName => flag in examples);
    if (command.language !== "sh" || example === undefined) return [];
    return [{ example, command, answer: blocks[index + 1] ?? null }];
  });
}

/** Sends the commands of a page in order; throws at the first answer that differs. */
export async function checkExchanges(
  exchanges: readonly Exchange[],
  open: OpenExamples,
): Promise<void> {
  await using page = new AsyncDisposableStack();
  const handlers = new Map<ExampleName, Handler>();
  const isReading = exchanges.every(({ command }) => isRead(readCurl(command.text, anyToken)));
  let tag = "";
  for (const { example, command, answer } of exchanges) {
    const handler = handlers.get(example) ??
      await (isReading ? open.shared(example) : open.copy(example, page));
    handlers.set(example, handler);
    const { request, includesHead } = readCurl(command.text, {
      ...await tokensOf(example),
      ETAG: tag,
    });
    const response = await handler(request);
    tag = response.headers.get("ETag") ?? tag;
    ok(answer !== null, `${command.place}: no answer follows`);
    const text = await response.text();
    if (includesHead) checkHead(response, answer);
    checkBody(text, answer, includesHead);
  }
}

const anyToken = { TOKEN: "x", STAFF: "x", ETAG: "x" };

function isRead({ request: { method, url } }: CurlRequest): boolean {
  return ["GET", "HEAD", "QUERY"].includes(method) || url.split("?")[0]!.endsWith("/$query");
}

/** Returns the tokens that the demo of an example prints, by name. */
export async function tokensOf(example: ExampleName): Promise<Readonly<Record<string, string>>> {
  const { tokens } = demos.get(examples[example].demo)!;
  return Object.fromEntries(
    await Promise.all(
      Object.entries(tokens).map(async ([name, claims]) => [name, await signToken(claims)]),
    ),
  );
}

/** The status line and the headers that the block shows; other headers may be left out. */
function checkHead(response: Response, { text, place }: CodeBlock): void {
  const [statusLine = "", ...lines] = text.split("\n\n")[0]!.trim().split("\n");
  strictEqual(response.status, Number(statusLine.split(" ")[1]), place);
  for (const line of lines) {
    const [, name = "", value] = /^([^:]+): (.*)$/.exec(line) ?? [];
    const actual = response.headers.get(name);
    // An ellipsis replaces a value that differs between databases.
    if (value?.includes("…")) ok(actual !== null, `${place}: ${name}`);
    else strictEqual(actual, value, `${place}: ${name}`);
  }
}

function checkBody(
  actual: string,
  { text, language, place }: CodeBlock,
  includesHead: boolean,
): void {
  const body = includesHead ? text.split("\n\n").slice(1).join("\n\n") : text;
  if (language === "json" || /^[[{]/.test(body)) {
    const found = JSON.parse(actual);
    deepStrictEqual(found, filled(JSON.parse(body), found), place);
  } else strictEqual(actual.trim(), body.trim(), place);
}

/** Replaces each text `…` by the value that the answer has there. */
function filled(expected: unknown, actual: unknown): unknown {
  if (expected === "…") return actual;
  if (typeof expected !== "object" || expected === null) return expected;
  const found = Object(actual);
  if (Array.isArray(expected)) return expected.map((each, index) => filled(each, found[index]));
  return Object.fromEntries(
    Object.entries(expected).map(([key, value]) => [key, filled(value, found[key])]),
  );
}

/** A server of the shop. */
export interface ServedShop {
  readonly api: string;
  readonly database: TestDatabase;
}

/** The example databases: each is made when it is used first, and copied for pages that write. */
export class OpenExamples implements AsyncDisposable {
  readonly #resources = new AsyncDisposableStack();
  readonly #databases = new Map<ExampleName, TestDatabase>();
  readonly #shared = new Map<ExampleName, Handler>();

  /**
   * Opens a server of the shop on a copy of the database, in which the SQL of a page has run.
   * `options` are in addition to the shop's.
   */
  async serveShop(
    page: string,
    stack: AsyncDisposableStack,
    options: Partial<Parameters<typeof createHandler>[0]> = {},
  ): Promise<ServedShop> {
    const database = await this.copyShop(stack);
    await runPage(page, database);
    const handler = await openExample(database.uri, { ...shop, ...options }, stack);
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      (request) => handler(request),
    );
    stack.use(server);
    return { api: `http://127.0.0.1:${server.addr.port}`, database };
  }

  /** Copies the database of the shop. */
  async copyShop(stack: AsyncDisposableStack): Promise<TestDatabase> {
    const database = await copyPostgres(await this.#database("shop"));
    stack.defer(() => database.remove());
    return database;
  }

  /** Returns the handler of all pages that only read. */
  async shared(name: ExampleName): Promise<Handler> {
    const found = this.#shared.get(name) ?? await this.copy(name, this.#resources);
    this.#shared.set(name, found);
    return found;
  }

  /** Opens a handler on a copy of the database, both for as long as `stack` lives. */
  async copy(name: ExampleName, stack: AsyncDisposableStack): Promise<Handler> {
    const database = await copyPostgres(await this.#database(name));
    stack.defer(() => database.remove());
    await runPage(examples[name].page, database);
    return await openExample(database.uri, examples[name].options, stack);
  }

  async #database(name: ExampleName): Promise<TestDatabase> {
    const found = this.#databases.get(name);
    if (found !== undefined) return found;
    const database = await engines.pg({ name: examples[name].file, roles: [] });
    this.#resources.defer(() => database.remove());
    this.#databases.set(name, database);
    return database;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

async function openExample(
  dbUri: string,
  options: Partial<Parameters<typeof createHandler>[0]>,
  stack: AsyncDisposableStack,
): Promise<Handler> {
  const common = { dbSchemas: ["api"], dbAnonRole: "web_anon", jwtSecret: testSecret };
  const handler = createHandler({ dbUri, ...common, ...options });
  stack.defer(() => handler.close());
  await handler.ready();
  return handler;
}

/** Runs the SQL of a page in a database. */
async function runPage(path: string | null, { superuserUri }: TestDatabase): Promise<void> {
  if (path === null) return;
  const page = { path, text: await Deno.readTextFile(`${root}${path}`) };
  await withClient(superuserUri!, async (client) => {
    const sql = codeBlocks(page)
      .filter(({ language, flags }) => language === "sql" && !flags.includes("ignore"));
    for (const { text } of sql) await client.query(text);
  });
}
