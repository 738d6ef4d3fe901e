/** Counts requests by what became of them. @module */
import { type Answer, CutError } from "../../support/clients/http_connection.ts";
import type { RequestCounts } from "./report.ts";

/** Whether an answer may come while the fault lasts: `["503", "SVC001"]`. */
export type Expectation = (status: number, code: string) => boolean;

/** How many kinds of problems are told. */
const toldProblems = 8;

/** Counts for one load. */
export class Tally {
  readonly #expected: Expectation;
  readonly #byStatus: Record<string, number> = {};
  readonly #problems = new Map<string, number>();
  /** Milliseconds that the answers took. */
  readonly #times: number[] = [];
  #sent = 0;
  #answered = 0;

  /** 200 and 201 are expected always; `expected` says what else. */
  constructor(expected: Expectation = () => false) {
    this.#expected = expected;
  }

  /** Sends a request by `exchange` and counts what comes; null when no whole answer does. */
  async count(exchange: () => Promise<Answer>): Promise<Answer | null> {
    this.#sent++;
    const began = performance.now();
    try {
      const answer = await exchange();
      this.#times.push(performance.now() - began);
      this.#note(answer);
      return answer;
    } catch (error) {
      if (!(error instanceof CutError)) throw error;
      this.problem(error.received === 0 ? "request without an answer" : "answer cut short");
      return null;
    }
  }

  problem(text: string): void {
    this.#problems.set(text, (this.#problems.get(text) ?? 0) + 1);
  }

  /** Milliseconds that a share of the answers did not exceed: 0.99 for all but one in a hundred. */
  quantile(share: number): number {
    const sorted = this.#times.toSorted((a, b) => a - b);
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  }

  get counts(): RequestCounts {
    return { sent: this.#sent, answered: this.#answered, byStatus: { ...this.#byStatus } };
  }

  get problems(): readonly string[] {
    return [...this.#problems].slice(0, toldProblems).map(([text, times]) => `${times} × ${text}`);
  }

  #note(answer: Answer): void {
    this.#answered++;
    const { status, headers } = answer;
    const code = errorCode(answer);
    const key = `${status} ${code}`.trim();
    this.#byStatus[key] = (this.#byStatus[key] ?? 0) + 1;
    const isExpected = status === 200 || status === 201 || this.#expected(status, code);
    if (!isExpected) this.problem(`answer ${key} ${answer.body.slice(0, 200)}`);
    const pause = headers.get("retry-after") ?? "missing";
    if (status === 503 && !/^[1-9]\d*$/.test(pause)) this.problem(`503 with Retry-After ${pause}`);
  }
}

/** The code of an error's body; empty for other bodies. */
export function errorCode({ status, body }: Answer): string {
  if (status < 400) return "";
  try {
    return String(JSON.parse(body).code);
  } catch {
    return "without a code";
  }
}
