/** Makes the engine free memory after work that used much of it. @module */

/** Size of a buffer that makes the engine collect garbage. It is never written, so it occupies no memory. */
const announcedBytes = 256 * 1024 * 1024;

/** Makes the engine collect garbage in slices from now on. Without it, V8 waits until the heap has
 * four times its size after the last collection. */
export function collectGarbage(): void {
  try {
    new ArrayBuffer(announcedBytes);
  } catch {
    // The process has a limit of addresses. The engine collects when it has to.
  }
}
