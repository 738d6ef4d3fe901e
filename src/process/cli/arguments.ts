/** Parses the arguments of the command line. @module */
import type { ConfigFlag } from "../../state/config/load.ts";
import { nearest } from "../../base/lib/nearest.ts";
import { options } from "../../state/config/options.ts";
import { wingOptions } from "../wings.ts";
import { redact } from "../../base/lib/redact.ts";
import type { Command, CommandCall, CommandFlag } from "../../api/command.ts";
import { optionOfFlag, suggestFlag } from "./option_flags.ts";
import { callTarget } from "./target.ts";
import { connectionName } from "../../state/config/call_words.ts";
import type { ConfigArguments } from "../../state/config/config_files.ts";

export type ParsedCall =
  /** Serves, or runs another mode of the program. */
  | {
    readonly kind: "run" | Mode;
    readonly config: ConfigArguments;
    readonly serving: ServeFlags;
  }
  | { readonly kind: "command"; readonly command: Command; readonly call: CommandCall }
  /** Prints the help of one command, or of the whole program if `command` is null. */
  | { readonly kind: "help"; readonly command: Command | null }
  | { readonly kind: "version" }
  | { readonly kind: "example" }
  /** Invalid arguments. The program prints the message with the usage. */
  | { readonly kind: "error"; readonly command: Command | null; readonly message: string };

export interface ArgumentContext {
  readonly commands: readonly Command[];
  readonly isFile: (path: string) => boolean;
}

export interface ServeFlags {
  /** Whether to reload when the configuration file or the schema changes. */
  readonly watches: boolean;
  /** Opens the console in a browser. */
  readonly opensConsole: boolean;
}

export const noServeFlags: ServeFlags = { watches: false, opensConsole: false };

/** Flags for serving, with their texts for `--help`. */
export const serveFlagDocs: ReadonlyMap<string, string> = new Map([
  ["--watch", "Reload when the configuration file or the schema changes"],
  ["--open", "Open the console in a browser"],
]);

type Mode = typeof modes[number];

type ModeFlagKind = typeof precedingKinds[number] | Mode;

/** A flag that selects what the program does, without a command. */
export interface ModeFlag {
  readonly kind: ModeFlagKind;
  readonly spellings: readonly string[];
  readonly doc: string;
}

/** Mode flags in the order of `--help`. */
export const modeFlags: readonly ModeFlag[] = [
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

/** Modes whose flag takes precedence over all other arguments, even invalid ones, in this order. */
const precedingKinds = ["help", "version", "example"] as const;

/** Flags of modes other than serving. They exclude each other. */
const modes = ["dump-config", "dump-schema", "types", "ready"] as const;

/**
 * Parses the arguments after the program's name. `--help`, `--version` and `--example` take
 * precedence over all other arguments, in this order. Arguments after `--` are not flags. A single
 * argument that is the name of a command and of an existing file is the file. `help` is `--help`.
 *
 * ```text
 * Call   = [ Command ] *( Flag / Operand ) [ Target ]
 * Flag   = "--" Key "=" Value / ShortForm "=" Value / ModeFlag / CommandFlag
 * ```
 */
export function parseArguments(
  argv: readonly string[],
  { commands, isFile }: ArgumentContext,
): ParsedCall {
  if (argv[0] === "help" && !isFile("help")) {
    return parseArguments([...argv.slice(1), "--help"], { commands, isFile });
  }
  const isFileAlone = argv.length === 1 && isFile(argv[0]!);
  const command = isFileAlone ? null : commands.find(({ name }) => name === argv[0]) ?? null;
  const tokens = tokenize(command === null ? argv : argv.slice(1), command?.flags ?? []);
  const kinds = new Set(tokens.flags.map(modeOf));
  const preceding = precedingKinds.find((kind) => kinds.has(kind));
  if (preceding === "help") return { kind: "help", command };
  if (preceding !== undefined) return { kind: preceding };
  const typo = command === null ? misspeltCommand(argv, { commands, isFile }) : null;
  if (typo !== null) return { kind: "error", command, message: typo };
  try {
    return callOf(command, tokens);
  } catch (error) {
    if (error instanceof ArgumentError) return { kind: "error", command, message: error.message };
    throw error;
  }
}

/** Returns a message if the first argument resembles a command and is not an existing file; otherwise null. */
function misspeltCommand(
  [word = ""]: readonly string[],
  { commands, isFile }: ArgumentContext,
): string | null {
  if (!/^[A-Za-z]+$/.test(word) || isFile(word)) return null;
  if (serveWords.has(word)) {
    return `unknown command ${word}: leave it out, the program serves without a command`;
  }
  const name = nearest(word, commands.map((command) => command.name));
  return name === null ? null : `unknown command ${word}; did you mean ${name}?`;
}

/** Names that other programs use for the command to serve. */
const serveWords: ReadonlySet<string> = new Set(["run", "serve", "server", "start", "up"]);

class ArgumentError extends Error {}

/** A flag as typed. */
interface FlagToken {
  /** The flag without its value: `--db-pool`. */
  readonly name: string;
  /** Null if the flag has no value. */
  readonly value: string | null;
}

interface Tokens {
  readonly flags: readonly FlagToken[];
  readonly others: readonly string[];
}

function tokenize(argv: readonly string[], commandFlags: readonly CommandFlag[]): Tokens {
  const flags: FlagToken[] = [];
  const others: string[] = [];
  for (let at = 0; at < argv.length; at++) {
    const argument = argv[at]!;
    if (argument === "--") return { flags, others: [...others, ...argv.slice(at + 1)] };
    const takesNext = commandFlags.some(({ name, value }) => name === argument && value === "next");
    if (takesNext) flags.push({ name: argument, value: argv[++at] ?? null });
    else if (argument.startsWith("-") && argument !== "-") {
      flags.push(flagToken(argument));
    } else others.push(argument);
  }
  return { flags, others };
}

function flagToken(argument: string): FlagToken {
  const equals = argument.startsWith("--") ? argument.indexOf("=") : -1;
  if (equals === -1) return { name: argument, value: null };
  return { name: argument.slice(0, equals), value: argument.slice(equals + 1) };
}

function modeOf({ name, value }: FlagToken): ModeFlagKind | null {
  if (value !== null) return null;
  return modeFlags.find(({ spellings }) => spellings.includes(name))?.kind ?? null;
}

function callOf(command: Command | null, { flags, others }: Tokens): ParsedCall {
  const ownFlags = new Map<string, string>();
  const optionFlags = new Map<string, ConfigFlag>();
  const kinds = new Set<ModeFlagKind>();
  const serveFlags = new Set<string>();
  for (const token of flags) {
    const flag = command?.flags.find(({ name }) => name === token.name);
    const kind = command === null ? modeOf(token) : null;
    if (flag !== undefined) setOwnFlag(ownFlags, flag, token);
    else if (kind !== null) kinds.add(kind);
    else if (command === null && token.value === null && serveFlagDocs.has(token.name)) {
      serveFlags.add(token.name);
    } else setOption(optionFlags, optionFlag(token, command));
  }
  const isOperand = (argument: string) => command?.operands?.pattern.test(argument) === true;
  const operands = others.filter(isOperand);
  const config = configArguments(others.filter((each) => !isOperand(each)), optionFlags);
  if (command !== null) {
    return { kind: "command", command, call: { config, flags: ownFlags, operands } };
  }
  const [mode = "run", other] = modes.filter((each) => kinds.has(each));
  if (other !== undefined) throw new ArgumentError(`--${mode} and --${other} exclude each other`);
  const [serveFlag] = serveFlags;
  if (mode !== "run" && serveFlag !== undefined) {
    throw new ArgumentError(`--${mode} and ${serveFlag} exclude each other`);
  }
  const serving = { watches: serveFlags.has("--watch"), opensConsole: serveFlags.has("--open") };
  return { kind: mode, config, serving };
}

function setOwnFlag(
  flags: Map<string, string>,
  { name, form, value: arity }: CommandFlag,
  { value }: FlagToken,
): void {
  if (arity === "none" && value !== null) throw new ArgumentError(`${name} takes no value`);
  if (value === null && (arity === "required" || arity === "next")) {
    throw new ArgumentError(`${name} needs a value: ${form}`);
  }
  const previous = flags.get(name);
  if (previous !== undefined && !form.endsWith("…")) {
    throw new ArgumentError(`${name} is given twice`);
  }
  flags.set(name, previous === undefined ? value ?? "" : `${previous}\0${value}`);
}

type OptionFlag = ConfigFlag & { readonly key: string };

function optionFlag({ name, value }: FlagToken, command: Command | null): OptionFlag {
  const key = optionOfFlag(name);
  if (key === null) throw unknownFlag(name, command);
  if (value !== null) return { key, name, value };
  const { example: literal } = { ...options, ...wingOptions }[key]!;
  const example = literal.replace(/^"(.*)"$/, "$1");
  throw new ArgumentError(`${name} needs a value, such as ${name}=${example}`);
}

function unknownFlag(name: string, command: Command | null): ArgumentError {
  const others = command === null
    ? [...modeFlags.flatMap(({ spellings }) => spellings), ...serveFlagDocs.keys()]
    : command.flags.map((flag) => flag.name);
  if (others.includes(name)) return new ArgumentError(`${name} takes no value`);
  const suggestion = suggestFlag(name, others);
  const hint = suggestion === null ? "" : `; did you mean ${suggestion}?`;
  return new ArgumentError(`unknown option ${JSON.stringify(name)}${hint}`);
}

/** Sets an option. Two flags may set it if their values are equal. The message omits the values,
 * which may be secret. */
function setOption(flags: Map<string, ConfigFlag>, { key, name, value }: OptionFlag): void {
  const first = flags.get(key);
  if (first !== undefined && first.value !== value) {
    throw new ArgumentError(
      first.name === name
        ? `${name} is given twice with different values`
        : `${first.name} and ${name} set ${key} to different values`,
    );
  }
  if (first === undefined) flags.set(key, { name, value });
}

function configArguments(
  others: readonly string[],
  flags: Map<string, ConfigFlag>,
): ConfigArguments {
  const [argument, extra] = others;
  if (extra !== undefined) {
    const [first, second] = [argument!, extra].map((each) => JSON.stringify(redact(each)));
    throw new ArgumentError(`unexpected argument ${second}: ${first} is the file or connection`);
  }
  if (argument === undefined) return { file: null, flags };
  const target = callTarget(argument);
  if (target.kind === "problem") throw new ArgumentError(target.message);
  if (target.kind === "file") return { file: target.path, flags };
  setOption(flags, { key: "db-uri", name: connectionName, value: target.connection });
  return { file: null, flags };
}
