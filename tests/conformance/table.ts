/**
 * Reads the table: cases as text, and the differences that are known of servers.
 *
 * A case begins with its request line. Then follow `as <role>` or `as <claims>`, headers, and the body
 * after `> `. The answer begins with the status. After it stands the body as JSON, as `text "…"`, as
 * `code | message | details | hint`, as `*` if any will do, or nothing. Headers of the answer follow;
 * `-Name` must be absent. `then` before a request line continues a case. Lines with `//` are comments.
 * An asterisk stands for any text in headers and in errors, and for any value in JSON, where
 * `"*": "*"` permits other members. A code alone permits any texts.
 *
 * @module
 */

type Header<Value> = readonly [name: string, value: Value];

/** One request and its whole answer. */
export interface Exchange {
  readonly method: string;
  readonly path: string;
  /** Claims of the token to send, or null. `"@-35"` is 35 seconds ago. */
  readonly claims: string | null;
  readonly headers: readonly Header<string>[];
  readonly body: string | null;
  readonly status: number;
  readonly answer: string;
  readonly answerHeaders: readonly Header<string | null>[];
}

export interface Case {
  /** The title of its file. */
  readonly area: string;
  /** The request without its answer, unique in the table. */
  readonly label: string;
  readonly exchanges: readonly Exchange[];
}

/** Cases that a server answers differently for one reason. */
export interface Difference {
  readonly reason: string;
  readonly labels: readonly string[];
}

const folder = new URL(".", import.meta.url);
const requestLine = /^(then )?([A-Z]+) (\/\S*)$/;
const statusLine = /^(\d{3})(?: (.*))?$/;

/** Reads all cases. `prefix` is that of error codes; media types have it in lower case. */
export async function readTable(prefix = "PGRST"): Promise<readonly Case[]> {
  const names = (await Array.fromAsync(Deno.readDir(new URL("cases/", folder)))).map(({ name }) =>
    name
  );
  const texts = names.sort().map((name) => Deno.readTextFile(new URL(`cases/${name}`, folder)));
  const cases = (await Promise.all(texts)).flatMap((text) => readArea(text, prefix));
  const labels = cases.map(({ label }) => label);
  const twice = labels.find((label, at) => labels.indexOf(label) !== at);
  if (twice !== undefined) throw new Error(`two cases have the label ${twice}`);
  return cases;
}

/** Reads the differences of a server: paragraphs of a line `# reason`, and the labels of cases. */
export async function readDifferences(server: string): Promise<readonly Difference[]> {
  const text = await Deno.readTextFile(new URL(`differences/${server}.txt`, folder));
  return text.trim().split(/\n\n+/).map((paragraph) => {
    const [reason = "", ...labels] = paragraph.split("\n");
    return { reason: reason.replace(/^# /, ""), labels };
  });
}

function readArea(file: string, prefix: string): readonly Case[] {
  const [title = "", ...lines] = file.split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("//"));
  const cases: string[][] = [];
  for (const line of lines) {
    if (requestLine.test(line) && !line.startsWith("then ")) cases.push([line]);
    else cases.at(-1)!.push(line);
  }
  return cases.map((text) => {
    const starts = text.flatMap((line, at) => requestLine.test(line) ? [at] : []);
    const exchanges = starts.map((at, which) => text.slice(at, starts[which + 1]));
    const requests = exchanges.flatMap((some) => some.slice(0, statusAt(some)));
    return {
      area: title.slice(2),
      label: requests.join(" "),
      exchanges: exchanges.map((some) => readExchange(some, prefix)),
    };
  });
}

function statusAt(lines: readonly string[]): number {
  const at = lines.findIndex((line) => statusLine.test(line));
  if (at < 0) throw new Error(`no status: ${lines[0]}`);
  return at;
}

function readExchange(lines: readonly string[], prefix: string): Exchange {
  const named = lines.map((line) =>
    line.replaceAll("PGRST", prefix).replaceAll("pgrst", prefix.toLowerCase())
  );
  const at = statusAt(named);
  const [, status, answer = ""] = statusLine.exec(named[at]!)!;
  const [, , method = "", path = ""] = requestLine.exec(named[0]!)!;
  const parts = named.slice(1, at);
  const role = parts.find((line) => line.startsWith("as "))?.slice(3) ?? null;
  const body = parts.filter((line) => line.startsWith(">")).map((line) => line.slice(2));
  return {
    method,
    path,
    claims: role === null || role.startsWith("{") ? role : JSON.stringify({ role }),
    headers: parts.filter((line) => !/^(as |>)/.test(line)).map(readHeader),
    body: body.length === 0 ? null : body.join("\n"),
    status: Number(status),
    answer,
    answerHeaders: named.slice(at + 1).map((line) =>
      line.startsWith("-") ? [line.slice(1), null] : readHeader(line)
    ),
  };
}

function readHeader(line: string): Header<string> {
  const [, name, value = ""] = /^([\w-]+):(?: (.*))?$/.exec(line) ?? [];
  if (name === undefined) throw new Error(`not a header: ${line}`);
  return [name, value];
}
