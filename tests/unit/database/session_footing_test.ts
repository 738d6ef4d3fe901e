import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Batch } from "../../../src/database/database.ts";
import type { Footing, FootingMode } from "../../../src/database/footing.ts";
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

/** A server's process that has a role, whose implicit transactions take back what they changed. */
class FakeServer {
  readonly executed: string[] = [];
  /** Of the session. */
  role = "login";
  readonly #texts = new Map<string, string>();
  readonly #process: number;

  constructor(process: number) {
    this.#process = process;
  }

  answer(sent: readonly Sent[]): Uint8Array {
    const chunks: Uint8Array[] = [];
    let before = this.role;
    let borrowed: string | null = null;
    let current = "";
    let failed = false;
    for (const { type, name, text } of sent) {
      if (type === "S") {
        if (failed) this.role = before;
        before = this.role;
        borrowed = null;
        failed = false;
        chunks.push(ready("I"));
      } else if (type === "Q") {
        chunks.push(row(String(this.#process)), complete("SELECT 1"), ready("I"));
      } else if (failed) continue;
      else if (type === "P") {
        this.#texts.set(name!, text!);
        chunks.push(parseComplete);
      } else if (type === "B") {
        current = this.#texts.get(name!)!;
        chunks.push(bindComplete);
      } else if (type === "E") {
        this.executed.push(current);
        const [verb, role = ""] = current.split(" ");
        const own: string = borrowed ?? this.role;
        if (verb === "check" && role !== own || verb === "fail") {
          failed = true;
          chunks.push(failure(verb === "fail" ? "22P02" : "22012", "no"));
          continue;
        }
        if (verb === "enter") this.role = role;
        if (verb === "reset") this.role = "login";
        if (verb === "borrow") borrowed = role;
        if (verb === "read") chunks.push(row("1", null, borrowed ?? this.role, null, "body"));
        if (verb === "write") chunks.push(row("1", null, null, null, "body"));
        chunks.push(complete("SELECT 1"));
      }
    }
    return join(...chunks);
  }
}

function open(process = 42): { readonly session: Session; readonly server: FakeServer } {
  const transport = new FakeTransport();
  const server = new FakeServer(process);
  transport.reply = (sent) => server.answer(sent);
  const options = { prepare: true, preparedLimit: 20, setup: "setup", now: () => 0 };
  return { session: new Session(transport, options, () => {}), server };
}

function footing(role: string, inAnswer: boolean): Footing {
  const first = (mode: FootingMode) =>
    inAnswer && mode === "check"
      ? null
      : { text: `${mode} ${role}`, params: [], use: "none" } as const;
  return { role, searchPath: "api", inAnswer, first };
}

function batch(text: string, footing: Batch["footing"]): Batch {
  return {
    access: "read only",
    isolation: "read committed",
    ...(footing === undefined ? {} : { footing }),
    statements: [{ text, params: [], use: "answer" }],
    end: "commit",
    stream: true,
    block: "implicit",
  };
}

const reading = (role: string, text = "read") => batch(text, footing(role, true));
const writing = (role: string, text = "write") => batch(text, footing(role, false));

/** What each batch came to: "ok", or the SQLSTATE that it failed of. */
async function outcomes(session: Session, batches: readonly Batch[]): Promise<readonly string[]> {
  const replies: Promise<string>[] = [];
  await new Promise<void>((free) => {
    const tasks = batches.map((batch): Task => {
      let task!: Task;
      replies.push(
        new Promise((resolve) => {
          task = {
            batch,
            resolve: () => resolve("ok"),
            reject: (error) =>
              resolve(error instanceof DatabaseError ? error.failure.sqlstate : String(error)),
          };
        }),
      );
      return task;
    });
    session.runAll(tasks, { free, handedBack: () => {} });
  });
  return await Promise.all(replies);
}

Deno.test("a session takes a role once for the batches that follow", async () => {
  const { session, server } = open();
  // Whether it is alone with the server is said with the first answer.
  await outcomes(session, [reading("ann")]);
  const others = [reading("ann"), reading("ann"), writing("ann")];
  deepStrictEqual(await outcomes(session, others), ["ok", "ok", "ok"]);
  deepStrictEqual(await outcomes(session, [reading("ann")]), ["ok"]);
  deepStrictEqual(server.executed, [
    "borrow ann",
    "read",
    "enter ann",
    "read",
    "read",
    "check ann",
    "write",
    "read",
  ]);
});

Deno.test("a session behind a pooler keeps no role", async () => {
  const { session, server } = open(43);
  for (let time = 0; time < 3; time++) await outcomes(session, [reading("ann")]);
  strictEqual(server.role, "login");
});

Deno.test("a session that has lost its role is not believed", async () => {
  const { session, server } = open();
  await outcomes(session, [reading("ann")]);
  await outcomes(session, [reading("ann")]);
  for (const batch of [reading("ann"), writing("ann")]) {
    server.role = "eve";
    server.executed.length = 0;
    deepStrictEqual(await outcomes(session, [batch]), ["ok"]);
    strictEqual(server.executed.at(-2), "enter ann");
    strictEqual(server.role, "ann");
  }
});

Deno.test("a batch that takes a role and fails leaves those behind it on their feet", async () => {
  const { session, server } = open();
  await outcomes(session, [reading("ann")]);
  await outcomes(session, [reading("bob")]);
  const batches = [reading("ann", "fail"), reading("ann"), writing("ann"), reading("bob")];
  deepStrictEqual(await outcomes(session, batches), ["22P02", "ok", "ok", "ok"]);
  deepStrictEqual(await outcomes(session, [reading("ann"), writing("bob")]), ["ok", "ok"]);
  strictEqual(server.role, "bob");
});

Deno.test("what was sent behind a batch that takes back its footing is run again", async () => {
  const { session, server } = open();
  await outcomes(session, [reading("ann")]);
  await outcomes(session, [reading("ann")]);
  const elsewhere = (text: string) =>
    batch(text, { ...footing("ann", true), searchPath: "elsewhere" });
  server.executed.length = 0;
  const batches = [elsewhere("fail"), elsewhere("read"), reading("ann"), reading("ann")];
  deepStrictEqual(await outcomes(session, batches), ["22P02", "ok", "ok", "ok"]);
  deepStrictEqual(server.executed, [
    ...["reset role", "enter ann", "fail"],
    "read",
    ...["reset role", "enter ann", "read"],
    "read",
    ...["reset role", "enter ann", "read"],
  ]);
});

Deno.test("a write whose check fails is run again, one that fails at its end is not", async () => {
  const { session, server } = open();
  await outcomes(session, [reading("ann")]);
  server.executed.length = 0;
  const decided: Batch = { ...writing("ann"), end: () => "commit", block: "explicit" };
  const answer = server.answer.bind(server);
  // Deferred constraints divide by zero at COMMIT.
  server.answer = (sent) => {
    const isEnd = sent.some(({ text }) => text === "commit");
    return isEnd
      ? join(parseComplete, bindComplete, failure("22012", "division by zero"), ready("I"))
      : answer(sent).with(-1, "T".charCodeAt(0));
  };
  deepStrictEqual(await outcomes(session, [decided]), ["22012"]);
  strictEqual(server.executed.filter((text) => text === "write").length, 1);
});

Deno.test("what sets its role itself is not told one, and is not trusted behind", async () => {
  const { session, server } = open();
  await outcomes(session, [reading("ann")]);
  await outcomes(session, [reading("ann")]);
  server.executed.length = 0;
  await outcomes(session, [batch("write", "any"), reading("ann")]);
  deepStrictEqual(server.executed, ["reset role", "write", "enter ann", "read"]);
});

Deno.test("a session that cannot be given its role says so", async () => {
  const { session, server } = open();
  await outcomes(session, [reading("ann")]);
  Object.defineProperty(server, "role", { get: () => "eve", set() {} });
  await rejects(session.run(reading("ann")).reply, /another role/);
  strictEqual(session.state, "idle");
});
