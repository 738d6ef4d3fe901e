/** Codecs that several options use. @module */
import { isHeaderName } from "../../../base/errors/http_text.ts";
import { isHost, isMcpPath, isOrigin, isSocketPath } from "../checks.ts";
import { integer, list, type ListFormat, text } from "../codecs.ts";

/** A name in the database; `what` is the kind of object. */
export const name = (what: string) => text({ type: "text", expected: `${what} in quotes` });

export const host = text({
  type: "text",
  expected: 'a host name, an address or one of "*", "*4", "!4", "*6", "!6", in quotes',
  check: isHost,
});

export const socketPath = text({
  type: "path",
  expected: "a path in quotes of at most 107 bytes",
  check: isSocketPath,
});

export const headerName = text({
  type: "header name",
  expected: "a header's name in quotes",
  check: isHeaderName,
});

/** The path of an endpoint next to relations and functions. */
export const endpointPath = (example: string) =>
  text({
    type: "path",
    expected: `a path in quotes that is not below /rpc, such as "${example}"`,
    check: isMcpPath,
  });

export const origins = (format: Partial<ListFormat> = {}) =>
  list({
    expected: 'origins in quotes, separated by commas, such as "https://example.com"',
    check: isOrigin,
    ...format,
  });

export const port = integer({ min: 0, max: 65535 });

/** Seconds. Timers count milliseconds in 31 bits, which limits the value. */
export const seconds = (min: number) => integer({ min, max: 2_147_483 });
