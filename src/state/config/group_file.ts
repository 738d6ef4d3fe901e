/** Parses the Configurator grammar of the configuration file: `key = value`, `name { … }`,
 * `import`. @module */
import type { RawValue } from "./codecs.ts";
import { ConfigError } from "./config_error.ts";
import { type ConfigFile, type FileEntries, type FileEntry, interpolate } from "./file.ts";

interface GroupFileContext {
  readonly environment: Readonly<Record<string, string>>;
  readonly readText: (path: string) => string;
  /** Paths of the files that are being parsed. They must not be imported again. */
  readonly importing: readonly string[];
}

/**
 * Parses all entries. The last value of a repeated key applies. In texts, `$(NAME)` inserts a
 * preceding key or an environment variable. `$$` inserts a dollar sign.
 *
 * ```text
 * File      = *Directive
 * Directive = Key "=" Value / Key "{" *Directive "}" / "import" String / "#;" Directive
 * Key       = Word *( "." Word )
 * Value     = String / Number / "true" / "false" / "on" / "off" / "[" [ Value *( "," Value ) ] "]"
 * ```
 *
 * Throws `ConfigError` with file, line and key for a syntax error and an undefined reference.
 * `readText` reads an imported file, and throws if it cannot.
 */
export function parseGroups(
  file: ConfigFile,
  environment: Readonly<Record<string, string>>,
  readText: (path: string) => string,
): FileEntries {
  const entries = new Map<string, FileEntry>();
  new GroupParser(file, entries, { environment, readText, importing: [file.path] }).file();
  return entries;
}

const words: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["on", true],
  ["false", false],
  ["off", false],
]);

const escapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  '"': '"',
  "\\": "\\",
};

/** Maximum nesting of groups. It bounds the recursion of the parser. */
const maxDepth = 16;

class GroupParser {
  readonly #text: string;
  readonly #path: string;
  #at = 0;
  #key: string | null = null;

  constructor(
    file: ConfigFile,
    readonly entries: Map<string, FileEntry>,
    readonly context: GroupFileContext,
  ) {
    this.#text = file.text.replace(/^\uFEFF/, "");
    this.#path = file.path;
  }

  file(prefix: readonly string[] = []): void {
    this.#directives(prefix, "keep");
    if (this.#at < this.#text.length) throw this.#problem("expected a key");
  }

  #directives(prefix: readonly string[], use: "keep" | "skip"): void {
    for (this.#space(); this.#isDirective(); this.#space()) this.#directive(prefix, use);
  }

  #isDirective(): boolean {
    return /^(?:[\p{L}]|#;)/u.test(this.#text.slice(this.#at, this.#at + 2));
  }

  #directive(prefix: readonly string[], use: "keep" | "skip"): void {
    this.#key = null;
    if (this.#take(/#;/y) !== null) {
      this.#space();
      if (!this.#isDirective()) throw this.#problem("expected a key to leave out after #;");
      return this.#directive(prefix, "skip");
    }
    const line = this.#line();
    const key = this.#take(/\p{L}[\p{L}\p{N}_-]*(?:\.\p{L}[\p{L}\p{N}_-]*)*/uy)!;
    this.#space();
    if (key === "import" && this.#text[this.#at] === '"') return this.#import(prefix, use);
    this.#key = [...prefix, key].join(".");
    if (this.#take(/\{/y) !== null) return this.#group([...prefix, key], use);
    if (this.#take(/=/y) === null) throw this.#problem("expected = after the key");
    this.#space();
    const value = this.#value();
    if (use === "keep") this.#bind(prefix, { key: this.#key, value, line });
  }

  #group(prefix: readonly string[], use: "keep" | "skip"): void {
    if (prefix.length > maxDepth) throw this.#problem("groups are nested too deep");
    this.#directives(prefix, use);
    if (this.#take(/\}/y) === null) throw this.#problem("expected a key or }");
  }

  #import(prefix: readonly string[], use: "keep" | "skip"): void {
    const name = String(this.#value());
    if (use === "skip") return;
    const { environment, readText, importing } = this.context;
    if (importing.includes(name)) throw this.#problem(`imports ${JSON.stringify(name)} again`);
    let text: string;
    try {
      text = readText(name);
    } catch (error) {
      const reason = error instanceof Error ? error.message : "cannot be read";
      throw this.#problem(`cannot import ${JSON.stringify(name)}: ${reason}`);
    }
    const inside = { environment, readText, importing: [...importing, name] };
    new GroupParser({ path: name, text }, this.entries, inside).file(prefix);
  }

  #value(): RawValue {
    if (this.#take(/"/y) !== null) return this.#string();
    const number = this.#take(/[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])/y);
    if (number !== null) return Number(number);
    const word = this.#take(/[a-z]+(?![\w.-])/y);
    if (word !== null && words.has(word)) return words.get(word)!;
    if (this.#take(/\[/y) !== null) return this.#list();
    throw this.#problem("expected a text in double quotes, a number, true or false");
  }

  #list(): RawValue {
    for (this.#space(); this.#take(/\]/y) === null; this.#space()) {
      this.#value();
      this.#space();
      if (this.#take(/,/y) === null && this.#text[this.#at] !== "]") {
        throw this.#problem("expected , or ]");
      }
    }
    return { unusable: "a list" };
  }

  /** Parses a text after its opening quote. */
  #string(): string {
    let value = "";
    while (true) {
      value += this.#take(/[^"\\]*/y) ?? "";
      if (this.#take(/"/y) !== null) return value;
      const code = this.#take(/\\u[0-9A-Fa-f]{4}/y);
      const escape = code === null ? this.#take(/\\[ntr"\\]/y) : null;
      if (code !== null) value += String.fromCharCode(parseInt(code.slice(2), 16));
      else if (escape !== null) value += escapes[escape[1]!];
      else throw this.#problem("the text has no closing quote, or an invalid escape");
    }
  }

  #bind(
    prefix: readonly string[],
    { key, value, line }: { readonly key: string; readonly value: RawValue; readonly line: number },
  ): void {
    const origin = { kind: "file", path: this.#path, line } as const;
    const resolved = typeof value === "string" ? this.#resolve(value, prefix) : value;
    this.entries.set(key, { key, value: resolved, origin });
  }

  #resolve(text: string, prefix: readonly string[]): string {
    if (!text.includes("$")) return text;
    if (/\$(?!\$|\()/.test(text.replaceAll("$$", ""))) {
      throw this.#problem("a dollar sign is written $$");
    }
    const { environment } = this.context;
    return interpolate(text, (name) => {
      for (let depth = prefix.length; depth >= 0; depth--) {
        const value = this.entries.get([...prefix.slice(0, depth), name].join("."))?.value;
        if (typeof value === "string" || typeof value === "number") return String(value);
        if (value !== undefined) {
          throw this.#problem(`variable '${name}' is not a string or number`);
        }
      }
      if (Object.hasOwn(environment, name)) return environment[name]!;
      throw this.#problem(`no such variable: '${name}'`);
    });
  }

  /** Skips white space and comments. */
  #space(): void {
    this.#take(/(?:[ \t\r\n]+|#(?!;)[^\n]*)*/y);
  }

  #take(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text)?.[0] ?? null;
    this.#at += match?.length ?? 0;
    return match;
  }

  #line(): number {
    return this.#text.slice(0, this.#at).split("\n").length;
  }

  #problem(problem: string): ConfigError {
    const origin = { kind: "file", path: this.#path, line: this.#line() } as const;
    return new ConfigError({ origin, key: this.#key, problem });
  }
}
