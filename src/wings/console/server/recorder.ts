/** Stores recent requests, log lines and figures for the console. @module */
import { type Schedule, untilNextSecond } from "../../../base/lib/timers.ts";
import type { FinishedRequest, Observation } from "../../../base/observe/observation.ts";
import type { SchemaCacheCounts } from "../../../base/observe/diagnostics.ts";
import { redact } from "../../../base/lib/redact.ts";
import { type CountedRequests, type Gauges, LiveFigures, Ring } from "./live_figures.ts";

export interface RecentRequest {
  /** Time of arrival, in epoch milliseconds. */
  readonly time: number;
  readonly method: string;
  /** Path and query string, cut after {@linkcode maxTextLength} characters. */
  readonly target: string;
  readonly client: string | null;
  /** Null when authentication failed. */
  readonly role: string | null;
  readonly status: number;
  /** Milliseconds: in total, in the queue of the pool, and in the database. */
  readonly ms: { readonly total: number; readonly queue: number; readonly database: number };
  /** Length of the body; null if unknown. */
  readonly bytes: number | null;
  /** Code of the error that the client received. */
  readonly code: string | null;
  /** Name of the matching line of `operations`. Default: no line matches. */
  readonly operation?: string;
  /** Statements, separated by line breaks; null unless `log-query` is set. */
  readonly sql: string | null;
}

/** Requests of one thread, for the recorder of another thread. */
export interface RecordedRequests {
  readonly newest: readonly RecentRequest[];
  readonly slow: readonly RecentRequest[];
  readonly figures: CountedRequests;
}

export interface SchemaCacheState {
  /** Epoch milliseconds. */
  readonly loadedAt: number;
  readonly ms: number;
  readonly counts: SchemaCacheCounts;
}

/** A line of the diagnostic log. */
export interface LogLine {
  readonly line: string;
}

/** Milliseconds for which requests are recorded after the console's last request for data. */
const watchMs = 60_000;

/** Milliseconds for which requests are recorded after another thread has taken them. */
const takenMs = 5000;

/** Milliseconds from which a request is slow. */
export const slowRequestMs = 1000;

const [maxRequests, maxSlowRequests, maxLines] = [500, 200, 1000];

/** Maximum characters of a stored text, so that all entries fit in 7 MB. */
const maxTextLength = 1900;

/** Dependencies of a {@linkcode Recorder}. */
export interface RecorderOptions {
  /** Returns the figures of the pool and of the process. */
  readonly gauges: () => Gauges;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** Stores recent requests, log lines and figures. Requests are recorded only while a console is open. */
export class Recorder {
  readonly requests = new Ring<RecentRequest>(maxRequests);
  readonly slowRequests = new Ring<RecentRequest>(maxSlowRequests);
  readonly lines = new Ring<LogLine>(maxLines);
  readonly figures = new LiveFigures();
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** The last load of the schema cache; null before the first. */
  schemaCache: SchemaCacheState | null = null;
  readonly #options: RecorderOptions;
  #sql: string | null = null;
  /** Numbers of the last entries returned by {@linkcode take}. */
  #takenRequest = 0;
  #takenSlow = 0;
  #cancel: () => void = () => {};
  #watchedUntil = 0;
  #isWatched = false;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.startedAt = options.now();
  }

  /** Whether a console has requested data within the last minute. */
  get isWatched(): boolean {
    return this.#isWatched;
  }

  /** Records requests for the next minute, and gauges once per second. */
  watch(): void {
    const { schedule, gauges, now } = this.#options;
    this.#watchedUntil = now() + watchMs;
    if (this.#isWatched) return;
    this.#isWatched = true;
    this.figures.take();
    const tick = () => {
      this.figures.endSecond(now(), gauges());
      this.#isWatched = now() < this.#watchedUntil;
      if (this.#isWatched) this.#cancel = schedule(tick, untilNextSecond(now()));
    };
    this.#cancel = schedule(tick, untilNextSecond(now()));
  }

  stop(): void {
    this.#isWatched = false;
    this.#cancel();
  }

  /** Records an event. The event with a request's statements directly precedes the event of its end. */
  observe(event: Observation): void {
    if (event.kind === "schema-cache-loaded") {
      const { counts, ms } = event;
      this.schemaCache = { loadedAt: this.#options.now(), ms: rounded(ms), counts };
    }
    if (!this.#isWatched) return;
    if (event.kind === "request-queried") this.#sql = cut(event.texts.join(";\n"));
    else if (event.kind === "request-finished") this.#record(event);
  }

  /** Returns the requests since the last call, for the recorder of another thread, and continues recording. */
  take(): RecordedRequests {
    this.#isWatched = true;
    this.#cancel();
    this.#cancel = this.#options.schedule(() => this.#isWatched = false, takenMs);
    const newest = this.requests.after(this.#takenRequest);
    const slow = this.slowRequests.after(this.#takenSlow);
    this.#takenRequest = newest.at(-1)?.id ?? this.#takenRequest;
    this.#takenSlow = slow.at(-1)?.id ?? this.#takenSlow;
    return { newest, slow, figures: this.figures.take() };
  }

  /** Adds the requests of other threads, in the order of their arrival. */
  add(recorded: readonly RecordedRequests[]): void {
    const inOrder = (lists: readonly (readonly RecentRequest[])[]) =>
      lists.flat().toSorted((one, other) => one.time - other.time);
    for (const request of inOrder(recorded.map(({ newest }) => newest))) this.requests.add(request);
    for (const request of inOrder(recorded.map(({ slow }) => slow))) this.slowRequests.add(request);
    for (const { figures } of recorded) this.figures.add(figures);
  }

  /** Adds a line of the diagnostic log. */
  addLine(line: string): void {
    this.lines.add({ line: cut(line) });
  }

  #record(event: FinishedRequest): void {
    const sql = this.#sql;
    this.#sql = null;
    this.figures.record(event);
    const entry: RecentRequest = {
      time: event.time,
      method: event.method,
      target: cut(redactTokens(event.target)),
      client: event.client,
      role: event.role,
      status: event.status,
      ms: {
        total: rounded(event.durationMs),
        queue: rounded(event.queueMs ?? 0),
        database: rounded(event.databaseMs ?? 0),
      },
      bytes: event.length,
      code: event.code,
      ...event.operation == null ? {} : { operation: event.operation },
      sql,
    };
    this.requests.add(entry);
    if (event.durationMs >= slowRequestMs) this.slowRequests.add(entry);
  }
}

/** Hides tokens, which clients may put into URLs by mistake. */
function redactTokens(target: string): string {
  return target.includes("eyJ") ? redact(target) : target;
}

function cut(text: string): string {
  return text.length <= maxTextLength ? text : `${text.slice(0, maxTextLength)}…`;
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
