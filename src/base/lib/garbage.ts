/** Has the engine free memory after work that has used much of it. @module */

/** Bytes that the engine takes for a reason to collect garbage. They are never written, so they take no memory. */
const announcedBytes = 256 * 1024 * 1024;

/**
 * Has the engine collect garbage in slices from now on. By itself V8 waits until the heap is four times as large as
 * what was in use after the last time.
 */
export function collectGarbage(): void {
  try {
    new ArrayBuffer(announcedBytes);
  } catch {
    // The process has a limit of addresses. The engine collects when it has to.
  }
}
