/** The source of a request's body, and the limits that apply to the body. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { systemClock } from "../../base/lib/clock.ts";
import { schedule } from "../../base/lib/timers.ts";
import type { BodySource, ReceivingOptions } from "../request/body/body.ts";
import { openSpoolFile } from "../../base/lib/spool_file.ts";
import { BodyPace, MinRate } from "../../base/lib/time_limits.ts";
import type { DivisionOptions } from "../request/body/divided_body.ts";
import type { PayloadReader } from "../request/body/payload.ts";
import { hasIdempotencyKey } from "../request/idempotency_key.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import type { Exchange } from "./exchange.ts";

/** Returns the source of the body of a request. */
export function bodySource(exchange: Exchange, { isQuery }: PayloadReader): BodySource {
  const { request, info, context: { snapshot: { config } } } = exchange;
  const kindOptions = isQuery === true ? queryLimit(config) : { division: divisionOf(exchange) };
  const options = { ...bodyOptions(exchange), ...kindOptions };
  return { kind: "request", request, options, onEnd: info.bodyReceived };
}

/** Returns the limits of a body. */
export function bodyOptions(
  { context: { snapshot: { config } }, deadline, info: { isContended } }: Exchange,
): Pick<ReceivingOptions, "timeout"> & { readonly maxBytes: number } {
  const { serverMaxBodySize: maxBytes, serverBodyTimeout } = config;
  const pace = isContended === undefined ? null : new BodyPace(isContended, systemClock, errors);
  return {
    maxBytes,
    timeout: { milliseconds: serverBodyTimeout * 1000, schedule, deadline, pace },
  };
}

/** Returns the lower of `server-max-body-size` and `server-max-query-body`, for a query request. */
function queryLimit(
  { serverMaxBodySize, serverMaxQueryBody }: Snapshot["config"],
): Pick<ReceivingOptions, "maxBytes" | "tooLarge"> {
  const isLower = serverMaxBodySize > 0 &&
    (serverMaxQueryBody === 0 || serverMaxBodySize < serverMaxQueryBody);
  if (isLower) return { maxBytes: serverMaxBodySize };
  return { maxBytes: serverMaxQueryBody, tooLarge: errors.queryTooLarge };
}

/** Returns how the long body of an insert is divided; undefined for other requests. The caller
 * closes the files. */
function divisionOf(
  { raw, context: { snapshot: { config }, bodySpool: { space } }, files }: Exchange,
): DivisionOptions | undefined {
  const { serverSpoolSize: maxBytes, idempotencyTable } = config;
  if (raw.method !== "POST" || maxBytes === 0) return undefined;
  // A body with `Idempotency-Key` is not divided, because the key's hash needs the whole body.
  if (idempotencyTable !== null && hasIdempotencyKey(raw)) return undefined;
  const openSpool = () => {
    const file = openSpoolFile({ space, maxBytes });
    if (file !== null) files.push(file);
    return file;
  };
  return { openSpool, minRate: new MinRate(systemClock, errors) };
}
