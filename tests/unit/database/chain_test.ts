import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Batch } from "../../../src/database/database.ts";
import type { Footing } from "../../../src/database/footing.ts";
import { Pace } from "../../../src/database/pace.ts";
import type { Task } from "../../../src/database/run.ts";
import { Session } from "../../../src/database/session.ts";
import { DatabaseError } from "../../../src/errors/service_error.ts";
import {
  bindComplete,
  complete,
  failure,
  FakeTransport,
  join,
  parseComplete,
  ready,
  row,
  type Sent,
} from "../../support/fake_backend.ts";

/** A server that says what it is sent, and passes over what comes between a failure and a Sync. */
class FakeServer {
  /** Statements in the order in which they are run, and `|` for Sync, `,` for Flush. */
  readonly said: string[] = [];
  /** Keeps its answers to itself. */
  isSilent = false;
  readonly #texts = new Map<string, string>();
  #status: "I" | "T" | "E" = "I";

  answer(sent: readonly Sent[]): Uint8Array | null {
    const chunks: Uint8Array[] = [];
    let current = "";
    let failed = false;
    for (const { type, name, text } of sent) {
      if (type === "S") {
        failed = false;
        this.said.push("|");
        chunks.push(ready(this.#status));
      } else if (failed) continue;
      else if (type === "Q") chunks.push(row("42"), complete("SELECT 1"), ready("I"));
      else if (type === "H") this.said.push(",");
      else if (type === "P") {
        this.#texts.set(name!, text!);
        chunks.push(parseComplete);
      } else if (type === "B") {
        current = this.#texts.get(name!)!;
        chunks.push(bindComplete);
      } else if (type === "E") {
        this.said.push(current);
        if (current.startsWith("fail")) {
          failed = true;
          this.#status = this.#status === "T" ? "E" : "I";
          chunks.push(failure("22P02", "no"));
          continue;
        }
        if (current.startsWith("begin")) this.#status = "T";
        if (/^(commit|rollback)$/.test(current)) this.#status = "I";
        const user = current === "read as eve" ? "eve" : "ann";
        if (current.startsWith("read")) chunks.push(row("1", null, user, null, "body"));
        chunks.push(complete("SELECT 1"));
      }
    }
    return this.isSilent ? null : join(...chunks);
  }
}

function open(): {
  readonly session: Session;
  readonly server: FakeServer;
  readonly transport: FakeTransport;
} {
  const transport = new FakeTransport();
  const server = new FakeServer();
  transport.reply = (sent) => server.answer(sent);
  const options = { prepare: true, preparedLimit: 20, setup: "setup", now: () => 0 };
  return { session: new Session(transport, options, () => {}), server, transport };
}

const ann: Footing = {
  role: "ann",
  searchPath: "api",
  inAnswer: true,
  first: (mode) => mode === "check" ? null : { text: mode, params: [], use: "none" },
};

function batch(texts: readonly string[], more: Partial<Batch>): Batch {
  return {
    access: "read only",
    isolation: "read committed",
    statements: texts.map((text) => ({
      text,
      params: [],
      use: text.startsWith("read") ? "answer" : "none",
    })),
    end: "commit",
    stream: true,
    block: "implicit",
    pace: new Pace(),
    ...more,
  };
}

const quiet = (text: string) => batch([text], { footing: ann });
const loud = (text: string, more: Partial<Batch> = {}) =>
  batch(["set", text], {
    footing: "any",
    inBlock: () => ({ text: "set in block", params: [], use: "none" }),
    ...more,
  });

interface Outcomes {
  /** Of each batch "ok", the SQLSTATE that it failed of, or "handed back". */
  readonly outcomes: readonly string[];
  readonly free: Promise<void>;
}

function run(session: Session, batches: readonly Batch[]): Outcomes {
  const outcomes: string[] = batches.map(() => "waits");
  const tasks = batches.map((batch, at): Task => ({
    batch,
    resolve: () => void (outcomes[at] = "ok"),
    reject: (error) =>
      void (outcomes[at] = error instanceof DatabaseError ? error.failure.sqlstate : String(error)),
  }));
  const free = new Promise<void>((free) =>
    session.runAll(tasks, {
      free,
      handedBack: (back) => {
        for (const task of back) outcomes[tasks.indexOf(task)] = "handed back";
      },
    })
  );
  return { outcomes, free };
}

/** Runs batches once the session stands where quiet ones want it. */
async function runThere(batches: readonly Batch[]): Promise<readonly [string, readonly string[]]> {
  const { session, server } = open();
  for (let time = 0; time < 2; time++) await run(session, [quiet("read first")]).free;
  server.said.length = 0;
  const { outcomes, free } = run(session, batches);
  await free;
  return [server.said.join(" "), outcomes];
}

/** A pace of batches one of which has just failed. */
function troubled(ended = 0): Pace {
  const pace = new Pace();
  pace.ended(false);
  for (let time = 0; time < ended; time++) pace.ended(true);
  return pace;
}

interface Case {
  readonly name: string;
  readonly batches: readonly Batch[];
  readonly said: string;
  /** Each "ok" unless it is said. */
  readonly outcomes?: readonly string[];
}

const lost = "Error: the session has another role than it was given";

const begun = "begin isolation level read committed read only";
const chained = `${begun} reset role set in block`;

const cases: readonly Case[] = [
  {
    name: "what is asked first counts as well",
    batches: ["plan", "plan", "other plan"].map((text) => batch([text, "read"], { footing: ann })),
    said: "plan read plan read | other plan read |",
  },
  {
    name: "and so does what is asked last",
    batches: [batch(["read"], { footing: ann }), batch(["read", "more"], { footing: ann })],
    said: "read | read more |",
  },
  {
    name: "what takes another place is not answered with what goes before",
    batches: [quiet("read"), batch(["read"], { footing: { ...ann, searchPath: "elsewhere" } })],
    said: "read | reset role enter read |",
  },
  {
    name: "what was read as somebody else is no answer, and is read once more",
    batches: [quiet("read as eve"), quiet("read as eve")],
    said: "read as eve read as eve | reset role enter read as eve | reset role enter read as eve |",
    outcomes: [lost, lost],
  },
  { name: "one quiet reading", batches: [quiet("read")], said: "read |" },
  {
    name: "quiet readings that say the same are answered together",
    batches: [quiet("read"), quiet("read")],
    said: "read read |",
  },
  {
    name: "the server is asked for its answers now and then",
    batches: Array.from({ length: 8 }, () => quiet("read")),
    said: "read read read read read read , read read |",
  },
  {
    name: "others are transactions by themselves",
    batches: [quiet("read"), quiet("read"), quiet("read more"), quiet("read more")],
    said: "read read | read more read more |",
  },
  {
    name: "what takes a role is answered by itself",
    batches: [
      batch(["read"], { footing: { ...ann, searchPath: "elsewhere" } }),
      batch(["read"], { footing: { ...ann, searchPath: "elsewhere" } }),
      batch(["read"], { footing: { ...ann, searchPath: "elsewhere" } }),
    ],
    said: "reset role enter read | read read |",
  },
  {
    name: "what is not measured is answered by itself",
    batches: [quiet("read"), quiet("read")].map(({ pace: _, ...batch }) => batch),
    said: "read | read |",
  },
  {
    name: "what is asked while it reads is written by itself",
    batches: [
      batch(["write"], { footing: { ...ann, inAnswer: false } }),
      batch(["write"], { footing: { ...ann, inAnswer: false } }),
    ],
    said: "write | write |",
  },
  {
    name: "after a quiet reading that fails the others are handed back",
    batches: [quiet("read"), quiet("fail"), quiet("fail"), quiet("fail"), quiet("read")],
    said: "read | fail | read |",
    outcomes: ["ok", "22P02", "handed back", "handed back", "ok"],
  },
  {
    name: "kinds of which one failed lately are answered by themselves",
    batches: [
      ...[quiet("read"), quiet("read")].map((batch) => ({ ...batch, pace: troubled(99) })),
      ...[quiet("read"), quiet("read")].map((batch) => ({ ...batch, pace: troubled(100) })),
    ],
    said: "read | read | read read |",
  },
  {
    name: "what runs code is begun by what goes before",
    batches: [loud("read"), loud("read more"), loud("read")],
    said: [
      `${chained} read commit and chain`,
      "set in block read more commit and chain",
      "set in block read commit |",
    ].join(" "),
  },
  { name: "one that runs code", batches: [loud("read")], said: "reset role set read |" },
  {
    name: "what runs code comes last",
    batches: [loud("read"), quiet("read"), loud("read"), quiet("read")],
    said: `read read | ${chained} read commit and chain set in block read commit |`,
  },
  {
    name: "what must not be run twice has no place in a chain",
    batches: [loud("read", { inBlock: undefined }), loud("read"), loud("read")],
    said: "reset role set read | " +
      `${begun} set in block read commit and chain set in block read commit |`,
  },
  {
    name: "nor has what failed lately",
    batches: [loud("read"), loud("read", { pace: troubled() })],
    said: "reset role set read | set read |",
  },
  {
    name: "a failure in a chain is that of one",
    batches: [loud("read"), loud("fail"), loud("read"), loud("read")],
    said: `${chained} read commit and chain set in block fail | rollback |`,
    outcomes: ["ok", "22P02", "handed back", "handed back"],
  },
];

Deno.test("Session.runAll has several batches answered together", async (t) => {
  for (const { name, batches, said, outcomes } of cases) {
    await t.step(name, async () => {
      deepStrictEqual(await runThere(batches), [said, outcomes ?? batches.map(() => "ok")]);
    });
  }
});

Deno.test("a kind of batch that failed may be answered with others after a hundred that did not", async () => {
  const { session, server } = open();
  const pace = new Pace();
  const all = (texts: readonly string[]) => run(session, texts.map((text) => loud(text, { pace })));
  await all(["fail", "read"]).free;
  for (let time = 0; time < 99; time++) await all(["read"]).free;
  server.said.length = 0;
  await all(["read", "read"]).free;
  await all(["read", "read"]).free;
  strictEqual(server.said.filter((text) => text === "commit and chain").length, 1);
});

Deno.test("Session.handBackRest hands back all that is answered together", async () => {
  const { session, server, transport } = open();
  await run(session, [quiet("read")]).free;
  server.isSilent = true;
  const pace = new Pace();
  for (let time = 0; time < 2; time++) pace.note(0.1, "alone");
  const { outcomes, free } = run(session, [loud("read", { pace }), loud("read", { pace })]);
  strictEqual(pace.isQuick, true);
  strictEqual(session.handBackRest(), null);
  strictEqual(pace.isQuick, false);
  deepStrictEqual(outcomes, ["handed back", "handed back"]);
  // Its late answers are for nobody.
  const answer = join(
    ...[parseComplete, bindComplete, complete("BEGIN")],
    ...[parseComplete, bindComplete, complete("SELECT 1")],
    ...[parseComplete, bindComplete, row("1", "x"), complete("SELECT 1")],
    ...[parseComplete, bindComplete, complete("COMMIT")],
    ...[bindComplete, complete("SELECT 1"), bindComplete, row("1", "x"), complete("SELECT 1")],
    ...[parseComplete, bindComplete, complete("COMMIT"), ready("I")],
  );
  transport.tell(answer);
  await free;
  deepStrictEqual(outcomes, ["handed back", "handed back"]);
  strictEqual(session.state, "idle");
});

Deno.test("Session.handBackRest keeps what is answered by itself", async () => {
  const { session, server } = open();
  await run(session, [quiet("read")]).free;
  server.isSilent = true;
  const batches = [loud("read", { inBlock: undefined }), loud("read"), loud("read")];
  const { outcomes } = run(session, batches);
  strictEqual(session.handBackRest()?.batch, batches[0]);
  deepStrictEqual(outcomes, ["waits", "handed back", "handed back"]);
});

Deno.test("a connection that is lost fails the one that the server was at, and hands back the others", async () => {
  const { session, server, transport } = open();
  await run(session, [quiet("read")]).free;
  server.isSilent = true;
  const { outcomes, free } = run(session, [loud("read"), loud("read"), loud("read")]);
  transport.tell(join(
    ...[parseComplete, bindComplete, complete("BEGIN")],
    ...[parseComplete, bindComplete, complete("SELECT 1")],
    ...[bindComplete, row("1", "x"), complete("SELECT 1")],
    ...[parseComplete, bindComplete, complete("COMMIT")],
  ));
  transport.lose("reset");
  await free;
  strictEqual(outcomes[0], "ok");
  strictEqual(outcomes[1]!.startsWith("ServiceError"), true);
  strictEqual(outcomes[2], "handed back");
});

Deno.test("a long body is handed out, and what was to be answered with it is handed back", async () => {
  const { session, server, transport } = open();
  for (let time = 0; time < 2; time++) await run(session, [quiet("read")]).free;
  server.isSilent = true;
  const { outcomes, free } = run(session, [quiet("read"), quiet("read"), quiet("read")]);
  const answer = join(
    bindComplete,
    row("1", null, "ann", "x".repeat(300_000)),
    complete("SELECT 1"),
  );
  transport.tell(answer.subarray(0, 1000));
  await Promise.resolve();
  deepStrictEqual(outcomes, ["ok", "handed back", "handed back"]);
  ok(session.handBackRest() !== null);
  transport.tell(answer.subarray(1000));
  transport.tell(join(answer, answer, ready("I")));
  await free;
  deepStrictEqual(outcomes, ["ok", "handed back", "handed back"]);
});

/** Who hurries writes. */
const hurrying: Footing = {
  ...ann,
  inAnswer: false,
  first: (mode, isHurried = false) => ({
    text: `${isHurried ? "hurried " : ""}${mode}`,
    params: [],
    use: "none",
  }),
};

/** A write that may be taken back, and must not be run twice. */
const written = (text: string) =>
  batch([text], { footing: hurrying, once: true, undoable: true, stream: false });

/** Has a session with a silent server write three times in one write. */
async function writeThrice() {
  const opened = open();
  for (let time = 0; time < 2; time++) await run(opened.session, [quiet("read")]).free;
  opened.server.isSilent = true;
  opened.server.said.length = 0;
  const asked = run(opened.session, [written("one"), written("two"), written("three")]);
  return { ...opened, ...asked };
}

const step = [parseComplete, bindComplete, complete("SELECT 1")] as const;
const done = join(...step, parseComplete, bindComplete, complete("INSERT 0 1"), ready("I"));
const refused = (sqlstate: string) =>
  join(...step, parseComplete, bindComplete, failure(sqlstate, "no"), ready("I"));

Deno.test("writes that share a write hurry", async () => {
  const { session, server, transport, free } = await writeThrice();
  strictEqual(
    server.said.join(" "),
    "hurried check one | hurried check two | hurried check three |",
  );
  transport.tell(join(done, done, done));
  await free;
  server.said.length = 0;
  const { free: alone } = run(session, [written("one")]);
  strictEqual(server.said.join(" "), "check one |");
  transport.tell(done);
  await alone;
});

Deno.test("writes that share a write and wait for a lock are handed back, as many as there are", async () => {
  const { session, transport, outcomes, free } = await writeThrice();
  strictEqual(session.holdsWrites, true);
  transport.tell(refused("55P03"));
  deepStrictEqual(outcomes, ["handed back", "waits", "waits"]);
  transport.tell(refused("55P03"));
  await Promise.resolve();
  deepStrictEqual(outcomes, ["handed back", "handed back", "waits"]);
  strictEqual(session.holdsWrites, false);
  strictEqual(session.handBackRest()?.batch.statements[0]?.text, "three");
  transport.tell(done);
  await free;
  deepStrictEqual(outcomes, ["handed back", "handed back", "ok"]);
});

Deno.test("a write by itself that may not wait for a lock fails of it", async () => {
  const { session, server, transport } = open();
  await run(session, [quiet("read")]).free;
  server.isSilent = true;
  const { outcomes, free } = run(session, [written("one")]);
  transport.tell(refused("55P03"));
  await free;
  deepStrictEqual(outcomes, ["55P03"]);
});

Deno.test("a write that shares a write and fails of itself is not run anew", async () => {
  const { transport, outcomes, free } = await writeThrice();
  transport.tell(join(refused("23505"), refused("57014"), done));
  await free;
  deepStrictEqual(outcomes, ["23505", "57014", "ok"]);
});

Deno.test("writes whose connection is lost are not run elsewhere", async () => {
  const { transport, outcomes, free } = await writeThrice();
  transport.tell(done);
  transport.lose("reset");
  await free;
  await Promise.resolve();
  deepStrictEqual(outcomes.map((outcome) => outcome.slice(0, 12)), [
    "ok",
    "ServiceError",
    "ServiceError",
  ]);
});

Deno.test("writes behind one at which the server was told to end are run elsewhere", async () => {
  const { transport, outcomes, free } = await writeThrice();
  transport.tell(join(...step, parseComplete, bindComplete, failure("57P01", "terminated")));
  transport.lose("end");
  await free;
  deepStrictEqual(outcomes, ["57P01", "handed back", "handed back"]);
});
