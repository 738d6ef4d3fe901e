/** Asks a server again and again, and reports when no answer comes in time. @module */
import type { Clock } from "../../lib/clock.ts";

/** Milliseconds that a server may take to answer. */
export const maxAnswerMs = 1000;

/** The questions of a {@linkcode Monitor}, and its events. */
interface MonitorTask<Answer> {
  /** Asks the server. Rejects if the server cannot be reached. */
  ask(): Promise<Answer>;
  answered(answer: Answer): void;
  /** The server could not be reached. */
  failed(error: unknown): void;
  /** No answer came in time; a later one is ignored. */
  timedOut(): void;
  /** Returns the milliseconds until the next question. */
  period(): number;
}

/** Repeats a task until it is stopped. */
export class Monitor<Answer> {
  readonly #task: MonitorTask<Answer>;
  readonly #clock: Clock;
  #cancelTimer = () => {};
  /** Number of the current question; the answers to earlier ones are ignored. */
  #question = 0;
  #state: "stopped" | "asking" | "pausing" = "stopped";

  constructor(task: MonitorTask<Answer>, clock: Clock) {
    this.#task = task;
    this.#clock = clock;
  }

  start(): void {
    if (this.#state === "stopped") this.#ask();
  }

  hurry(): void {
    if (this.#state === "pausing") this.#ask();
  }

  stop(): void {
    this.#cancelTimer();
    this.#question++;
    this.#state = "stopped";
  }

  #ask(): void {
    this.#cancelTimer();
    this.#state = "asking";
    const question = ++this.#question;
    const finish = (report: () => void) => {
      if (question !== this.#question) return;
      this.#cancelTimer();
      this.#question++;
      this.#state = "pausing";
      report();
      // The report may have stopped the monitor, or begun the next question.
      if (this.#state !== "pausing") return;
      this.#cancelTimer();
      this.#cancelTimer = this.#clock.schedule(() => this.#ask(), this.#task.period());
    };
    this.#cancelTimer = this.#clock.schedule(
      () => finish(() => this.#task.timedOut()),
      maxAnswerMs,
    );
    this.#task.ask().then(
      (answer) => finish(() => this.#task.answered(answer)),
      (error) => finish(() => this.#task.failed(error)),
    );
  }
}
