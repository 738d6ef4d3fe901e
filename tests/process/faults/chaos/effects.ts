/** What the requests of the chaos run were to change, what their answers said, and what happened.
 * @module */
import type { PostgresClient } from "../../../support/database/postgres_client.ts";
import type { Verdict } from "../ledger.ts";
import type { WriteCounts } from "../report.ts";
import type { User } from "./users.ts";

/** What a trigger can notice of a write. */
export type Operation = "INSERT" | "UPDATE" | "DELETE";

/** One intended change of one row. */
export interface Effect {
  /** Several where an upsert decides. */
  readonly operations: readonly Operation[];
  readonly mark: number;
  readonly user: User;
  /** Identifies the request. */
  readonly stamp: string;
}

/** What the answer to an effect's request says of it. */
interface JudgedEffect {
  readonly effect: Effect;
  verdict: Verdict;
}

/** The effect of one request, whose verdict comes with the answer. */
export type PendingEffect = (verdict: Verdict) => void;

/** Numbers the rows of all requests, and compares them with those that triggers have counted. */
export class Effects {
  readonly #effects = new Map<string, JudgedEffect>();
  readonly #calls: { verdict: Verdict }[] = [];
  #lastMark = 0;

  nextMark(): number {
    return ++this.#lastMark;
  }

  /** Registers a change that a request is to make; uncertain until the returned function says more. */
  expect({ mark, user, stamp, operations }: Effect): PendingEffect {
    const judged: JudgedEffect = {
      effect: { mark, user, stamp, operations },
      verdict: "uncertain",
    };
    this.#effects.set(keyOf(mark, operations.includes("DELETE")), judged);
    return (verdict) => void (judged.verdict = verdict);
  }

  /** Registers a call that `private.calls` counts; certain once it has any answer but `SVC001`. */
  expectCall(): PendingEffect {
    const call: { verdict: Verdict } = { verdict: "uncertain" };
    this.#calls.push(call);
    return (verdict) => void (call.verdict = verdict);
  }

  /** Compares with the rows of `private.effects`; gives the counts and what is wrong beside them. */
  async compare(
    client: PostgresClient,
  ): Promise<{ readonly writes: WriteCounts; readonly problems: readonly string[] }> {
    const { rows } = await client.query(
      "select operation, mark, role, sub, stamp from private.effects",
    );
    const found = new Map<string, number>();
    const problems = new Set<string>();
    for (const row of rows) {
      const key = keyOf(Number(row["mark"]), row["operation"] === "DELETE");
      found.set(key, (found.get(key) ?? 0) + 1);
      const expected = this.#effects.get(key)?.effect;
      if (expected === undefined || !isBy(row, expected)) {
        problems.add(`expected ${describe(expected)}, found ${JSON.stringify(row)}`);
      }
    }
    return {
      writes: this.#count(found),
      problems: [...[...problems].slice(0, 5), ...await this.#callProblems(client)],
    };
  }

  async #callProblems(client: PostgresClient): Promise<readonly string[]> {
    const { rows: [counter] } = await client.query(
      "select case when is_called then last_value else 0 end as n from private.calls",
    );
    const calls = Number(counter?.["n"]);
    const certain = this.#calls.filter(({ verdict }) => verdict !== "uncertain").length;
    const isRight = calls >= certain && calls <= this.#calls.length;
    return isRight ? [] : [`${calls} calls of ${certain} to ${this.#calls.length} requests`];
  }

  #count(found: ReadonlyMap<string, number>): WriteCounts {
    const isThere = ([key]: readonly [string, JudgedEffect]) => found.has(key);
    const withVerdict = (verdict: Verdict) =>
      [...this.#effects].filter(([, judged]) => judged.verdict === verdict);
    const [acknowledged, refused, uncertain] = [
      withVerdict("acknowledged"),
      withVerdict("refused"),
      withVerdict("uncertain"),
    ];
    return {
      acknowledged: acknowledged.length,
      lost: acknowledged.filter((entry) => !isThere(entry)).length,
      doubled: [...found.values()].filter((count) => count > 1).length,
      refused: refused.length,
      undead: refused.filter(isThere).length,
      uncertain: uncertain.length,
      uncertainFound: uncertain.filter(isThere).length,
    };
  }
}

/** Whether a row that a trigger has written is what a request was to change. */
function isBy(
  { operation, role, sub, stamp }: Readonly<Record<string, unknown>>,
  { operations, user, stamp: expectedStamp }: Effect,
): boolean {
  return operations.includes(operation as Operation) && role === user.role && sub === user.sub &&
    stamp === expectedStamp;
}

function describe(effect: Effect | undefined): string {
  if (effect === undefined) return "no change";
  const { operations, mark, user: { role, sub }, stamp } = effect;
  return `${operations.join(" or ")} of ${mark} by ${role} ${sub} in ${stamp}`;
}

/** A row that is inserted and later deleted has two effects. */
function keyOf(mark: number, isDeleted: boolean): string {
  return `${isDeleted ? "delete" : "write"} ${mark}`;
}
