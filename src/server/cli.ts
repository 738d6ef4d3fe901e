/**
 * The command line: parses arguments into a command, and builds the texts that commands print.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import { svcDialect } from "../dialect.ts";
import { version } from "../version.ts";

/** A command that the arguments name. */
export type Command =
  /** Serves. Without a file, the environment and defaults are the configuration. */
  | { readonly kind: "run"; readonly file: string | null }
  | { readonly kind: "dump-config"; readonly file: string | null }
  | { readonly kind: "dump-schema"; readonly file: string | null }
  /** Writes the database's types for TypeScript. */
  | { readonly kind: "types"; readonly file: string | null }
  /** Checks whether a running service is ready. */
  | { readonly kind: "ready"; readonly file: string | null }
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | { readonly kind: "example" }
  /** Invalid arguments. The program prints the message with {@linkcode usage} and exits with 1. */
  | { readonly kind: "error"; readonly message: string };

type OptionKind = typeof precedingKinds[number] | typeof modes[number];

interface CommandOption {
  readonly kind: OptionKind;
  readonly spellings: readonly string[];
  readonly doc: string;
}

/** The options in the order of `--help`. */
const commandOptions: readonly CommandOption[] = [
  { kind: "help", spellings: ["-h", "--help"], doc: "Show this help and exit" },
  { kind: "version", spellings: ["-v", "--version"], doc: "Show the version and exit" },
  { kind: "example", spellings: ["-e", "--example"], doc: "Show an example file and exit" },
  { kind: "dump-config", spellings: ["--dump-config"], doc: "Show the configuration and exit" },
  {
    kind: "dump-schema",
    spellings: ["--dump-schema"],
    doc: "Show the schema cache as JSON and exit",
  },
  {
    kind: "types",
    spellings: ["--types"],
    doc: "Show the database's types for TypeScript clients and exit",
  },
  {
    kind: "ready",
    spellings: ["--ready"],
    doc: "Ask the admin server of a running service whether it is ready, and exit",
  },
];

/** Options that take precedence over all other arguments, even invalid ones, in this order. */
const precedingKinds = ["help", "version", "example"] as const;

/** Options that select a command other than serving; they exclude each other. */
const modes = ["dump-config", "dump-schema", "types", "ready"] as const;

/**
 * Parses the arguments after the program's name. `--help`, `--version` and `--example` take
 * precedence over all other arguments, in this order. Arguments after `--` are not options.
 */
export function parseArguments(argv: readonly string[]): Command {
  const end = argv.indexOf("--");
  const before = end === -1 ? argv : argv.slice(0, end);
  const after = end === -1 ? [] : argv.slice(end + 1);
  const isOption = (argument: string) => argument.startsWith("-") && argument !== "-";
  const options = new Map(before.filter(isOption).map((argument) => [argument, kindOf(argument)]));
  const kinds = new Set(options.values());
  const preceding = precedingKinds.find((kind) => kinds.has(kind));
  if (preceding !== undefined) return { kind: preceding };
  const unknown = Array.from(options.keys()).find((argument) => options.get(argument) === null);
  if (unknown !== undefined) return failure(`unknown option ${JSON.stringify(unknown)}`);
  const [file = null, extra] = [...before.filter((argument) => !isOption(argument)), ...after];
  if (extra !== undefined) return failure(`unexpected argument ${JSON.stringify(extra)}`);
  if (file === "") return failure("the path of the configuration file is empty");
  const [mode = "run", other] = modes.filter((each) => kinds.has(each));
  if (other !== undefined) return failure(`--${mode} and --${other} exclude each other`);
  return { kind: mode, file };
}

function kindOf(argument: string): OptionKind | null {
  return commandOptions.find(({ spellings }) => spellings.includes(argument))?.kind ?? null;
}

function failure(message: string): Command {
  return { kind: "error", message };
}

/** Returns the text of `--version`. */
export function versionText(): string {
  return `${svcDialect.displayName} ${version}\n`;
}

/** Returns the usage line. */
export function usage(): string {
  const spellings = commandOptions.map((option) => `[${option.spellings.join("|")}]`);
  return `Usage: ${svcDialect.productToken} ${spellings.join(" ")} [FILENAME]\n`;
}

/** Returns the text of `--help`. */
export function helpText(): string {
  const left = commandOptions.map(({ spellings }) => spellings.join(", "));
  const width = Math.max(...left.map((text) => text.length), "FILENAME".length);
  const lines = commandOptions.map(({ doc }, row) => `  ${left[row]!.padEnd(width)}  ${doc}`);
  return `${usage()}
  ${svcDialect.displayName} ${version} / create a REST API to an existing Postgres database

Available options:
  ${"FILENAME".padEnd(width)}  Path of the configuration file
${lines.join("\n")}

Every option of the file can be set by an environment variable: db-uri by ${svcDialect.environmentPrefix}_DB_URI.
`;
}

/** The request that `--ready` sends, or the reason why it sends none. */
export type ReadyCheck =
  /** URLs to try in this order until one responds; at least one. */
  | { readonly kind: "urls"; readonly urls: readonly string[] }
  | { readonly kind: "problem"; readonly message: string };

/** Loopback addresses of the special hosts, in the server's order of preference. */
const loopbackAddresses: ReadonlyMap<string, readonly string[]> = new Map([
  ["*", ["127.0.0.1", "::1"]],
  ["*4", ["127.0.0.1", "::1"]],
  ["!4", ["127.0.0.1"]],
  ["*6", ["::1", "127.0.0.1"]],
  ["!6", ["::1"]],
]);

/** Returns the request of `--ready`. */
export function readyCheck(
  { adminServerHost: host, adminServerPort: port, dialect }: Pick<
    Config,
    "adminServerHost" | "adminServerPort" | "dialect"
  >,
): ReadyCheck {
  if (port === null) {
    return problem("Admin server is not running. Please check admin-server-port config.");
  }
  const loopback = loopbackAddresses.get(host);
  if (loopback !== undefined && dialect.readyOnWildcard === "error") {
    return problem(
      `The \`--ready\` flag cannot be used when server-host is configured as "${host}". ` +
        'Please update your server-host config to "localhost".',
    );
  }
  const urls = (loopback ?? [host]).map((address) =>
    `http://${address.includes(":") ? `[${address}]` : address}:${port}/ready`
  );
  const invalid = urls.find((url) => !URL.canParse(url));
  return invalid === undefined ? { kind: "urls", urls } : problem(`invalid url - ${invalid}`);
}

function problem(message: string): ReadyCheck {
  return { kind: "problem", message: `ERROR: ${message}` };
}

/** Returns the verdict of `--ready` on a response; `status` is null if no response arrived. */
export function readyVerdict(
  url: string,
  status: number | null,
): { readonly ready: boolean; readonly message: string } {
  if (status === null) return { ready: false, message: `ERROR: connection refused to ${url}` };
  const ready = status >= 200 && status <= 299;
  return { ready, message: `${ready ? "OK" : "ERROR"}: ${url}` };
}
