/** Receives the body of a request, within the limits of its kind. @module */
import { errors } from "../../base/errors/catalogue.ts";
import { systemClock } from "../../base/lib/clock.ts";
import { schedule } from "../../base/lib/timers.ts";
import { type LongBodyChecks, receiveBody, type ReceivingOptions } from "../request/body/body.ts";
import { openSpoolFile } from "../../base/lib/spool_file.ts";
import { BodyPace, MinRate } from "../../base/lib/time_limits.ts";
import type { DivisionOptions } from "../request/body/divided_body.ts";
import type { PayloadReader } from "../request/body/payload.ts";
import { hasIdempotencyKey } from "../request/idempotency_key.ts";
import type { Snapshot } from "../../state/app_state/snapshot.ts";
import type { Exchange } from "./exchange.ts";
import type { Payload } from "../request/body/body_decoder.ts";

/** How a long body is checked during its arrival, and whether it may be divided. */
export interface BodyRules extends Pick<DivisionOptions, "isDivisible"> {
  readonly checks: LongBodyChecks;
}

export async function receiveRequestBody(
  exchange: Exchange,
  reader: PayloadReader,
  { checks, isDivisible }: BodyRules,
): Promise<Payload> {
  const options = { ...bodyOptions(exchange), checks };
  const ownOptions = reader.isQuery === true
    ? { ...options, ...queryLimit(exchange.context.snapshot.config) }
    : { ...options, ...divisionOf(exchange, isDivisible) };
  const payload = await receiveBody(exchange.request, reader.begin, ownOptions);
  exchange.info.bodyReceived?.();
  return payload;
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

/** Returns the limit of a query in a body: the lower of the limits of bodies and of queries. */
function queryLimit(
  { serverMaxBodySize, serverMaxQueryBody }: Snapshot["config"],
): Pick<ReceivingOptions, "maxBytes" | "tooLarge"> {
  const isLower = serverMaxBodySize > 0 &&
    (serverMaxQueryBody === 0 || serverMaxBodySize < serverMaxQueryBody);
  if (isLower) return { maxBytes: serverMaxBodySize };
  return { maxBytes: serverMaxQueryBody, tooLarge: errors.queryTooLarge };
}

/** Returns how a long body is divided, which is possible for inserts. The caller closes the files. */
function divisionOf(
  { pieces, context: { snapshot: { config }, bodySpool: { space } }, files }: Exchange,
  isDivisible: DivisionOptions["isDivisible"],
): { readonly division?: DivisionOptions } {
  const { serverSpoolSize: maxBytes, idempotencyTable } = config;
  if (pieces.method !== "POST" || maxBytes === 0) return {};
  // The whole body identifies a request with a key.
  if (idempotencyTable !== null && hasIdempotencyKey(pieces)) return {};
  const openSpool = () => {
    const file = openSpoolFile({ space, maxBytes });
    if (file !== null) files.push(file);
    return file;
  };
  return { division: { isDivisible, openSpool, minRate: new MinRate(systemClock, errors) } };
}
