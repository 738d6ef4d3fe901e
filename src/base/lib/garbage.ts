/** Makes the engine free memory after work that used much memory. @module */

/** Size of the buffer whose allocation starts a collection. It is never written, so it takes no memory. */
const announcedBytes = 256 * 1024 * 1024;

/** Makes the engine collect garbage in slices from now on. Without this call, V8 waits until the heap
 * has four times its size after the last collection. */
export function collectGarbage(): void {
  try {
    new ArrayBuffer(announcedBytes);
  } catch {
    // A limit of the address space can refuse the buffer. V8 then collects when it needs memory.
  }
}
