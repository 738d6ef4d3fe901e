/** `Promise.withResolvers`, which Node 20 lacks. @module */

/** A promise with the functions that settle it. */
export interface Deferred<Value> {
  readonly promise: Promise<Value>;
  readonly resolve: (value: Value | PromiseLike<Value>) => void;
  readonly reject: (reason: unknown) => void;
}

export function deferred<Value>(): Deferred<Value> {
  let [resolve, reject]: [Deferred<Value>["resolve"], Deferred<Value>["reject"]] = [noop, noop];
  const promise = new Promise<Value>((resolvePromise, rejectPromise) => {
    [resolve, reject] = [resolvePromise, rejectPromise];
  });
  return { promise, resolve, reject };
}

function noop(): void {}
