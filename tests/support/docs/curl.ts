/** Reads the `curl` commands of the documentation as requests. @module */

/** A command as a request. */
export interface CurlRequest {
  readonly request: Request;
  /** With `-i` the response's status line and headers are part of the output. */
  readonly includesHead: boolean;
}

/** Returns the words of a shell command; `variables` replaces `$NAME` outside of single quotes. */
export function shellWords(
  command: string,
  variables: Readonly<Record<string, string>>,
): readonly string[] {
  const words: string[] = [];
  const pieces = /\s+|'([^']*)'|"([^"]*)"|\\\n|([^\s'"\\]+)/gy;
  let word: string | null = null;
  for (const [piece, single, double, bare] of command.matchAll(pieces)) {
    if (/^(\s|\\\n)/.test(piece)) {
      if (word !== null) words.push(word);
      word = null;
    } else word = (word ?? "") + (single ?? expand(double ?? bare ?? "", variables));
  }
  return word === null ? words : [...words, word];
}

function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(\w+)/g, (_, name) => {
    const value = variables[name];
    if (value === undefined) throw new Error(`$${name} has no value`);
    return value;
  });
}

/** Reads a command; `-N` has no effect on a request. Throws if it uses an option that the documentation does not need. */
export function readCurl(
  command: string,
  variables: Readonly<Record<string, string>> = {},
): CurlRequest {
  const [program, ...words] = shellWords(command.trim(), variables);
  if (program !== "curl") throw new Error(`not a curl command: ${command}`);
  const headers = new Headers();
  let url: string | null = null;
  let method: string | null = null;
  let body: string | null = null;
  let includesHead = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word === "-i" || word === "-I") {
      includesHead = true;
      if (word === "-I") method = "HEAD";
    } else if (word === "-N") continue;
    else if (word === "-X") method = words[++at]!;
    else if (word === "-d" || word === "--data-binary") body = words[++at]!;
    else if (word === "-H") {
      const [, name, value] = /^([^:]+):\s*(.*)$/.exec(words[++at]!)!;
      headers.append(name!, value!);
    } else if (word.startsWith("-")) throw new Error(`curl ${word} is not supported here`);
    else url = checkedUrl(word);
  }
  if (url === null) throw new Error(`no URL: ${command}`);
  if (body !== null && !headers.has("content-type")) {
    headers.set("content-type", "application/x-www-form-urlencoded");
  }
  method ??= body === null ? "GET" : "POST";
  return { request: new Request(url, { method, headers, body }), includesHead };
}

/** curl expands brackets and braces in URLs. */
function checkedUrl(word: string): string {
  if (/[[\]{}\s]/.test(word)) throw new Error(`curl does not send ${word} as it is`);
  return word.includes("://") ? word : `http://${word}`;
}
