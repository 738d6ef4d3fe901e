/** Lets time pass, for loads that have a pace; tests await events instead. @module */

/** Resolves after so many milliseconds. */
export function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
