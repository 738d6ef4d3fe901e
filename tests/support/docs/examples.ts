/**
 * Runs the `curl` blocks of a page against the example databases, and compares their answers.
 *
 * A block ` ```sh todos `, ` ```sh weather ` or ` ```sh places ` holds one command; the block behind it is its answer. Writes
 * of a page stay for the blocks below.
 *
 * @module
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { createHandler, type Handler } from "../../../mod.ts";
import { engines } from "../engines.ts";
import { signToken, testSecret } from "../token.ts";
import { readCurl } from "./curl.ts";
import type { CodeBlock } from "./markdown.ts";

/** The example databases, with the claims of `$TOKEN`. */
const examples = {
  todos: { file: "examples/todos/todos.sql", claims: { role: "todo_user", sub: "ada" } },
  places: { file: "examples/places/places.sql", claims: {} },
  weather: { file: "examples/weather/weather.sql", claims: { role: "weather_station" } },
} as const;

type ExampleName = keyof typeof examples;

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
export async function checkExchanges(exchanges: readonly Exchange[]): Promise<void> {
  await using open = new OpenExamples();
  for (const { example, command, answer } of exchanges) {
    const handler = await open.handler(example);
    const variables = { TOKEN: await signToken(examples[example].claims) };
    const { request, includesHead } = readCurl(command.text, variables);
    const response = await handler(request);
    ok(answer !== null, `${command.place}: no answer follows`);
    const text = await response.text();
    if (includesHead) checkHead(response, answer);
    checkBody(text, answer, includesHead);
  }
}

/** The status line and the headers that the block shows; others may be left out. */
function checkHead(response: Response, { text, place }: CodeBlock): void {
  const [statusLine = "", ...lines] = text.split("\n\n")[0]!.trim().split("\n");
  strictEqual(response.status, Number(statusLine.split(" ")[1]), place);
  for (const line of lines) {
    const [, name = "", value] = /^([^:]+): (.*)$/.exec(line) ?? [];
    strictEqual(response.headers.get(name), value, `${place}: ${name}`);
  }
}

function checkBody(
  actual: string,
  { text, language, place }: CodeBlock,
  includesHead: boolean,
): void {
  const body = includesHead ? text.split("\n\n").slice(1).join("\n\n") : text;
  if (language === "json" || /^[[{]/.test(body)) {
    deepStrictEqual(JSON.parse(actual), JSON.parse(body), place);
  } else strictEqual(actual.trim(), body.trim(), place);
}

/** The databases of one page; each is made when it is used first. */
class OpenExamples implements AsyncDisposable {
  readonly #resources = new AsyncDisposableStack();
  readonly #handlers = new Map<ExampleName, Handler>();

  async handler(name: ExampleName): Promise<Handler> {
    const found = this.#handlers.get(name);
    if (found !== undefined) return found;
    const database = await engines.pg({ name: examples[name].file, roles: [] });
    this.#resources.defer(() => database.remove());
    const handler = createHandler({
      dbUri: database.uri,
      dbSchemas: ["api"],
      dbAnonRole: "web_anon",
      dbAggregatesEnabled: name === "weather",
      dbCommentTags: name === "weather",
      serverQueryMethod: name === "weather",
      jwtSecret: testSecret,
    });
    this.#resources.defer(() => handler.close());
    await handler.ready();
    this.#handlers.set(name, handler);
    return handler;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
