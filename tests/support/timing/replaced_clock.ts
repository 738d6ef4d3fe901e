/** Replaces the clock of code that is handed none. @module */

/** Makes `performance.now()` return what `now` returns, until it is disposed of. */
export function replaceClock(now: () => number): Disposable {
  performance.now = now;
  // The prototype's method applies again.
  return {
    [Symbol.dispose]: () => void delete (performance as { now?: Performance["now"] }).now,
  };
}

/** Stops `performance.now()`, until it is disposed of. */
export function stopClock(): Disposable {
  const time = performance.now();
  return replaceClock(() => time);
}
