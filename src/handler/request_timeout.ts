/**
 * The time within which a request must have a response.
 *
 * @module
 */
import type { Config } from "../config/options.ts";
import type { Caller } from "../database/database.ts";
import { errors } from "../errors/catalogue.ts";
import { DatabaseError } from "../errors/service_error.ts";
import { deferred } from "../lib/deferred.ts";
import { RequestDeadline } from "../lib/request_deadline.ts";
import { schedule } from "../lib/timers.ts";

/** Returns the caller of a request's transactions. Its deadline begins now. */
export function callerOf(
  request: Request,
  { serverRequestTimeout: seconds }: Pick<Config, "serverRequestTimeout">,
): Caller {
  if (seconds === 0) return request;
  const deadline = new RequestDeadline(seconds * 1000, schedule);
  return {
    deadline,
    get signal() {
      return request.signal;
    },
  };
}

/** Settles as the work does. Rejects with `134` if the caller's time is over before. */
export async function beforeDeadline<Value>(
  work: Promise<Value>,
  { deadline = null }: Caller,
): Promise<Value> {
  if (deadline === null) return await work;
  const over = deferred<never>();
  const stop = deadline.onOver(() => over.reject(errors.requestTimeout()));
  // It may fail after the response.
  work.catch(() => {});
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    stop();
  }
}

/** SQLSTATE of a statement that was canceled. */
const queryCanceled = "57014";

/** Returns the error of a failed request: `134` if its transaction was canceled because of its time. */
export function failureOf(thrown: unknown, { deadline }: Caller): unknown {
  return isCanceled(thrown) && deadline?.isOver ? errors.requestTimeout() : thrown;
}

/** Whether PostgreSQL canceled a statement. */
export function isCanceled(thrown: unknown): boolean {
  return thrown instanceof DatabaseError && thrown.failure.sqlstate === queryCanceled;
}
