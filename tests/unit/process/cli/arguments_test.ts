import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { noServeFlags, parseArguments } from "../../../../src/process/cli/arguments.ts";
import { type Command, flagsOf } from "../../../../src/api/command.ts";
import type { OptionKey } from "../../../../src/state/config/options.ts";
import type { ConfigArguments } from "../../../../src/state/config/config_files.ts";

/** A command with a flag of each kind. */
const paint: Command = {
  name: "paint",
  doc: "Paint",
  example: "paint",
  page: "docs/how-to/paint.md",
  flags: flagsOf({
    "--dry": "a",
    "--coat[=N]": "a",
    "--out=FILE": "a",
    "-c TEXT": "a",
  }),
  operands: { pattern: /\.wall$/, placeholder: "FILE.wall", doc: "a" },
  run: () => Promise.resolve(0),
};

const parse = (argv: readonly string[], files: readonly string[] = []) =>
  parseArguments(argv, { commands: [paint], isFile: (path) => files.includes(path) });

/** The configuration that arguments name; flags as `key: [name, value]`. */
function config(
  file: string | null,
  flags: Partial<Record<OptionKey, readonly [name: string, value: string]>> = {},
): ConfigArguments {
  const entries = Object.entries(flags) as [OptionKey, readonly [string, string]][];
  return { file, flags: new Map(entries.map(([key, [name, value]]) => [key, { name, value }])) };
}

const problem = (message: string) => ({ kind: "error", message });

const connection = "the connection string";

const calls: readonly (readonly [argv: readonly string[], call: object])[] = [
  [[], { kind: "run", config: config(null) }],
  [["svc.conf"], { kind: "run", config: config("svc.conf") }],
  [["-"], { kind: "run", config: config("-") }],
  [["--", "--help"], { kind: "run", config: config("--help") }],
  [["--"], { kind: "run", config: config(null) }],
  [["-h"], { kind: "help", command: null }],
  [["pait"], problem("unknown command pait; did you mean paint?")],
  [["pait", "svc.conf"], problem("unknown command pait; did you mean paint?")],
  [["pait", "-h"], { kind: "help", command: null }],
  [["pait.conf"], { kind: "run", config: config("pait.conf") }],
  [["--help"], { kind: "help", command: null }],
  [["paint", "--help"], { kind: "help", command: paint }],
  [["paint", "--bogus", "-h"], { kind: "help", command: paint }],
  [["-v"], { kind: "version" }],
  [["--version"], { kind: "version" }],
  [["-e"], { kind: "example" }],
  [["--example"], { kind: "example" }],
  [["--dump-config"], { kind: "dump-config", config: config(null) }],
  [["--dump-config", "a"], { kind: "dump-config", config: config("a") }],
  [["a", "--dump-config"], { kind: "dump-config", config: config("a") }],
  [["--dump-config", "--", "a"], { kind: "dump-config", config: config("a") }],
  [["a", "--bogus", "-v", "b"], { kind: "version" }],
  [["-e", "-v", "-h"], { kind: "help", command: null }],
  [["-e", "-v"], { kind: "version" }],
  [["--dump-schema"], { kind: "dump-schema", config: config(null) }],
  [["--types", "a"], { kind: "types", config: config("a") }],
  [["--ready", "a"], { kind: "ready", config: config("a") }],
  [["--ready", "--ready", "a"], { kind: "ready", config: config("a") }],
  [["--ready", "--dump-config"], problem("--dump-config and --ready exclude each other")],
  [
    ["a", "--dump-schema", "--dump-config"],
    problem("--dump-config and --dump-schema exclude each other"),
  ],
  [["--dump-schema", "--dump-config", "-v"], { kind: "version" }],

  // Targets.
  [["postgres://me@h/shop"], {
    kind: "run",
    config: config(null, { "db-uri": [connection, "postgres://me@h/shop"] }),
  }],
  [["postgresql://h/shop", "--types"], {
    kind: "types",
    config: config(null, { "db-uri": [connection, "postgresql://h/shop"] }),
  }],
  [["pglite://memory"], {
    kind: "run",
    config: config(null, { "db-uri": [connection, "pglite://memory"] }),
  }],
  [["host=h dbname=shop"], {
    kind: "run",
    config: config(null, { "db-uri": [connection, "host=h dbname=shop"] }),
  }],
  [["user=me dbname=shop"], {
    kind: "run",
    config: config(null, { "db-uri": [connection, "user=me dbname=shop"] }),
  }],
  [["user=me"], { kind: "run", config: config("user=me") }],
  [["a host=b"], { kind: "run", config: config("a host=b") }],
  [
    ["mysql://root@h/shop"],
    problem(
      'cannot connect to a database of type "mysql": expected ' +
        "postgres://user@host:5432/database or pglite://memory",
    ),
  ],
  [["a", "b"], problem('unexpected argument "b": "a" is the file or connection')],
  [["a", "--", "b"], problem('unexpected argument "b": "a" is the file or connection')],
  [
    ["a", "postgres://me:pw@h/x"],
    problem('unexpected argument "postgres://***@h/x": "a" is the file or connection'),
  ],
  [[""], problem("the path of the configuration file is empty")],

  // Options.
  [["--port=3005", "a"], {
    kind: "run",
    config: config("a", { "server-port": ["--port", "3005"] }),
  }],
  [["--host=::1", "--schemas=a,b", "--anon-role=web"], {
    kind: "run",
    config: config(null, {
      "server-host": ["--host", "::1"],
      "db-schemas": ["--schemas", "a,b"],
      "db-anon-role": ["--anon-role", "web"],
    }),
  }],
  [["--db-pool=", "a"], { kind: "run", config: config("a", { "db-pool": ["--db-pool", ""] }) }],
  [["--jwt-secret=a=b"], {
    kind: "run",
    config: config(null, { "jwt-secret": ["--jwt-secret", "a=b"] }),
  }],
  [["--max-rows=5"], { kind: "run", config: config(null, { "db-max-rows": ["--max-rows", "5"] }) }],
  [["--dump-config", "--db-pool=5"], {
    kind: "dump-config",
    config: config(null, { "db-pool": ["--db-pool", "5"] }),
  }],
  [["--port=1", "--server-port=1"], {
    kind: "run",
    config: config(null, { "server-port": ["--port", "1"] }),
  }],
  [
    ["--port=1", "--server-port=2"],
    problem("--port and --server-port set server-port to different values"),
  ],
  [["--port=1", "--port=2"], problem("--port is given twice with different values")],
  [
    ["--db-uri=postgres://a/x", "postgres://b/x"],
    problem("--db-uri and the connection string set db-uri to different values"),
  ],
  [["--port"], problem("--port needs a value, such as --port=3000")],
  [["--host", "0.0.0.0"], problem("--host needs a value, such as --host=*4")],
  [["serve"], problem("unknown command serve: leave it out, the program serves without a command")],
  [
    ["start", "svc.conf"],
    problem("unknown command start: leave it out, the program serves without a command"),
  ],
  [["--db-config"], problem("--db-config needs a value, such as --db-config=true")],
  [["--bogus"], problem('unknown option "--bogus"')],
  [["--prot=1"], problem('unknown option "--prot"; did you mean --port?')],
  [["--jwt-secre=hidden"], problem('unknown option "--jwt-secre"; did you mean --jwt-secret?')],
  [["--dump-confg"], problem('unknown option "--dump-confg"; did you mean --dump-config?')],
  [["--help=1"], problem("--help takes no value")],
  [["-x\u001b[2J"], problem('unknown option "-x\\u001b[2J"')],
  [["-p=1"], problem('unknown option "-p=1"')],

  // Flags of serving.
  [["--watch", "--open", "a"], {
    kind: "run",
    config: config("a"),
    serving: { watches: true, opensConsole: true },
  }],
  [["--watch", "--types"], problem("--types and --watch exclude each other")],
  [["--watch=1"], problem("--watch takes no value")],
  [["--wach"], problem('unknown option "--wach"; did you mean --watch?')],
  [["paint", "--watch"], problem('unknown option "--watch"')],

  // Commands.
  [["paint"], {
    kind: "command",
    command: paint,
    call: { config: config(null), flags: new Map(), operands: [] },
  }],
  [["paint", "--dry", "--coat", "--out=f", "-c", "--help", "--db-pool=2", "a"], {
    kind: "command",
    command: paint,
    call: {
      config: config("a", { "db-pool": ["--db-pool", "2"] }),
      flags: new Map([["--dry", ""], ["--coat", ""], ["--out", "f"], ["-c", "--help"]]),
      operands: [],
    },
  }],
  [["paint", "--coat=2", "postgres://h/x"], {
    kind: "command",
    command: paint,
    call: {
      config: config(null, { "db-uri": [connection, "postgres://h/x"] }),
      flags: new Map([["--coat", "2"]]),
      operands: [],
    },
  }],
  [["paint", "a.wall", "b.wall", "--dry", "svc.conf"], {
    kind: "command",
    command: paint,
    call: {
      config: config("svc.conf"),
      flags: new Map([["--dry", ""]]),
      operands: ["a.wall", "b.wall"],
    },
  }],
  [["paint", "svc.conf", "a.wall"], {
    kind: "command",
    command: paint,
    call: { config: config("svc.conf"), flags: new Map(), operands: ["a.wall"] },
  }],
  [["help"], { kind: "help", command: null }],
  [["help", "paint"], { kind: "help", command: paint }],
  [
    ["me@localhost:5432/shop"],
    problem(
      'cannot connect to a database of type "": expected ' +
        "postgres://user@host:5432/database or pglite://memory",
    ),
  ],
  [
    ["paint", "a.conf", "b.conf"],
    problem('unexpected argument "b.conf": "a.conf" is the file or connection'),
  ],
  [["a", "paint"], problem('unexpected argument "paint": "a" is the file or connection')],
  [["--", "paint"], { kind: "run", config: config("paint") }],
  [["paint", "--dry=1"], problem("--dry takes no value")],
  [["paint", "--out"], problem("--out needs a value: --out=FILE")],
  [["paint", "-c"], problem("-c needs a value: -c TEXT")],
  [["paint", "--out=a", "--out=b"], problem("--out is given twice")],
  [["paint", "--dyr"], problem('unknown option "--dyr"; did you mean --dry?')],
  [["paint", "--types"], problem('unknown option "--types"')],
  [["--dry"], problem('unknown option "--dry"')],
];

/** Calls without flags of serving need not name them. */
function withServing(call: object, argv: readonly string[]): object {
  if ("message" in call) return { command: argv[0] === paint.name ? paint : null, ...call };
  return "config" in call ? { serving: noServeFlags, ...call } : call;
}

for (const [argv, call] of calls) {
  Deno.test(`parseArguments() parses ${JSON.stringify(argv)}`, () => {
    deepStrictEqual<unknown>(parse(argv), withServing(call, argv));
  });
}

Deno.test("parseArguments() reads a single argument as the file of a command's name", () => {
  const run = { kind: "run", config: config("paint"), serving: noServeFlags };
  deepStrictEqual(parse(["paint"], ["paint"]), run);
  strictEqual(parse(["paint", "--dry"], ["paint"]).kind, "command");
  deepStrictEqual(parse(["pait"], ["pait"]), { ...run, config: config("pait") });
});
