/** Limits the lengths of URLs and headers. @module */
import type { Config } from "../../state/config/options.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { ServiceError } from "../../base/errors/service_error.ts";
import type { RawRequest } from "./raw_request.ts";

/** Bytes of each header line in addition to name and value: colon, space and line end. */
const headerLineBytes = 4;

/** Returns the error `131` or `132` if the URL or the header exceeds its limit; null otherwise. */
export function lengthError(
  headers: Iterable<readonly [name: string, value: string]>,
  { path, query }: Pick<RawRequest, "path" | "query">,
  { serverMaxUrlLength, serverMaxHeaderSize }: Pick<
    Config,
    "serverMaxHeaderSize" | "serverMaxUrlLength"
  >,
): ServiceError | null {
  if (serverMaxUrlLength > 0) {
    const length = path.length + (query === "" ? 0 : query.length + 1);
    if (length > serverMaxUrlLength) return errors.urlTooLong(serverMaxUrlLength, length);
  }
  if (serverMaxHeaderSize > 0) {
    let size = 0;
    // A header value has one character per byte, so that its length is a number of bytes.
    for (const [name, value] of headers) {
      size += name.length + value.length + headerLineBytes;
    }
    if (size > serverMaxHeaderSize) return errors.headersTooLarge(serverMaxHeaderSize, size);
  }
  return null;
}
