/** Collects the lines of a process's output and waits for the one that a test expects. @module */

/** Output so far, line by line. */
export interface Lines {
  readonly all: readonly string[];
  /**
   * Gives the first line that matches, waiting for it if needed. Raises an `Error` with the whole
   * output when it ends, or the time is over, without such a line.
   */
  waitFor(pattern: RegExp, options?: WaitOptions): Promise<string>;
  /** Settles when the output has ended. */
  readonly ended: Promise<void>;
}

export interface WaitOptions {
  /** Lines before this index do not count; 0 unless told. */
  readonly after?: number;
  /** After which the line is not waited for any more. Default: 120. */
  readonly seconds?: number;
}

/** Reads a stream to its end, in the background. */
export function collectLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): Lines {
  const all: string[] = [];
  const changes = new EventTarget();
  let isOpen = true;
  const tell = () => changes.dispatchEvent(new Event("change"));
  const read = async () => {
    for await (const line of splitLines(stream)) {
      all.push(line);
      tell();
    }
    isOpen = false;
    tell();
  };
  const waitFor = (pattern: RegExp, { after = 0, seconds = 120 }: WaitOptions = {}) =>
    new Promise<string>((resolve, reject) => {
      const finish = (settle: () => void) => {
        clearTimeout(timer);
        changes.removeEventListener("change", look);
        settle();
      };
      const fail = () =>
        finish(() => reject(new Error(`no line matched ${pattern}:\n${all.join("\n")}`)));
      const look = () => {
        const line = all.slice(after).find((text) => pattern.test(text));
        if (line !== undefined) finish(() => resolve(line));
        else if (!isOpen) fail();
      };
      const timer = setTimeout(fail, seconds * 1000);
      changes.addEventListener("change", look);
      look();
    });
  return { all, waitFor, ended: read() };
}

async function* splitLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
}
