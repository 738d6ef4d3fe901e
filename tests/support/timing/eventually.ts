/** Waits for what happens elsewhere and is not told. @module */

/** Milliseconds after which a test fails instead of waiting for ever, on the busiest machine. */
const giveUpAfter = 120_000;

/** Asks until the answer is yes; raises an `Error` with `what` when it is not for two minutes. */
export async function eventually(
  what: string,
  ask: () => boolean | Promise<boolean>,
): Promise<void> {
  const end = performance.now() + giveUpAfter;
  while (!await ask()) {
    if (performance.now() > end) throw new Error(`it did not come about: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
