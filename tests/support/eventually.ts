/**
 * Waits for what happens elsewhere and is not told.
 *
 * @module
 */

/** Asks until the answer is yes; raises an `Error` with `what` when it is not for 20 seconds. */
export async function eventually(what: string, ask: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000;
  while (!await ask()) {
    if (performance.now() > end) throw new Error(`it did not come about: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
