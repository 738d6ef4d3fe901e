/**
 * Responds to a batch: several operations in one transaction.
 *
 * @module
 */
import type { Identity } from "../auth/jwt_cache.ts";
import {
  type BatchDocument,
  type BatchOperation,
  parseBatchDocument,
} from "../batch/batch_document.ts";
import { OperationError } from "../batch/operation_error.ts";
import {
  batchPreferences,
  inheritedHeaders,
  operationRequest,
  otherPreferences,
} from "../batch/operation_request.ts";
import type { OperationReferences } from "../batch/operation_references.ts";
import { BatchReferences } from "../batch/batch_references.ts";
import { batchReply } from "../batch/batch_reply.ts";
import type { Config } from "../config/options.ts";
import { errors } from "../errors/catalogue.ts";
import { quotable } from "../errors/quoting.ts";
import { type FailedOperation, ServiceError } from "../errors/service_error.ts";
import { parseAccept } from "../http/accept.ts";
import { canonicalText, parseMediaType } from "../http/media_type.ts";
import { Stopwatch } from "../observe/stopwatch.ts";
import { targetNameUsesOf } from "../plan/plan.ts";
import { Admission } from "../rate_limits/rate_limiter.ts";
import { limitedResource } from "../rate_limits/resource.ts";
import type { Payload } from "../request/api_request.ts";
import { decodeBody, type LongBodyChecks } from "../request/body.ts";
import { noBytes } from "../request/body_decoder.ts";
import { RawDecoder } from "../request/decoders.ts";
import {
  hasIdempotencyKey,
  readIdempotencyKey,
  requestFingerprint,
} from "../request/idempotency_key.ts";
import type { PayloadReader } from "../request/payload.ts";
import { parsePreferences } from "../request/preferences.ts";
import { chooseSchema } from "../request/profile.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Reply } from "../response/reply.ts";
import type { DataPlan } from "../transaction/data_plan.ts";
import type { RequestKey } from "../transaction/idempotency.ts";
import type { DescribedRequest } from "../transaction/preamble.ts";
import { isEndOverridable, mayWrite } from "../transaction/transaction.ts";
import { executeBatch, type PlannedBatch, type PlannedOperation } from "./batch_execution.ts";
import { isInsufficientPrivilege, RoleColumns } from "./column_privileges.ts";
import { ownerOf } from "./execute.ts";
import type { Exchange } from "./pipeline.ts";
import { planRequest, type RequestPlan } from "./plan_request.ts";
import { lengthError } from "./request_checks.ts";
import { readableQuery } from "./versioned_request.ts";

/** Whether a request is a batch. With a function for `/`, only the media type of batches says so. */
export function isBatch(
  { method, path, headers }: RawRequest,
  { batchMaxOperations, dbRootSpec }: Pick<Config, "batchMaxOperations" | "dbRootSpec">,
): boolean {
  if (batchMaxOperations === 0 || method !== "POST" || path !== "/") return false;
  return dbRootSpec === null || mediaOf(headers).kind === "batch";
}

/** A browser sends a request without a type to other sites, so that is not taken for JSON. */
function mediaOf(headers: RawRequest["headers"]) {
  return parseMediaType(headers["content-type"]?.trim() || "application/octet-stream");
}

/** Receives the body of a request with a reader. */
export type ReceiveDocument = (
  reader: PayloadReader,
  checks: Pick<LongBodyChecks, "head">,
) => Promise<Payload>;

/** Responds to a batch. Throws an {@linkcode OperationError} for an operation, `140` and `141`. */
export async function respondToBatch(
  exchange: Exchange,
  identity: Identity,
  receive: ReceiveDocument,
): Promise<Reply> {
  const { pieces, context, stopwatch, identifiers } = exchange;
  const { snapshot, onBatch } = context;
  const { config, cache, cacheError } = snapshot;
  if (cache === null) throw cacheError ?? errors.noSchemaCache();
  const request = describedBatch(pieces, config);
  checkHead(pieces, request);
  const payload = await receive(documentReader(config), {
    head: () => checkLength(pieces, config),
  });
  const bytes = payload.kind === "raw" ? payload.bytes : noBytes;
  const document = parseBatchDocument(bytes, { maxOperations: config.batchMaxOperations });
  stopwatch.lap("parse");
  const columns = new RoleColumns(context.columnPrivileges, identity.role, exchange.caller);
  const { operations, readsColumns } = await planOperations(exchange, identity, {
    document,
    columns,
  });
  stopwatch.lap("plan");
  onBatch(operations.length);
  if (operations.length === 0) {
    return batchReply([], {
      preferences: request.preferences,
      isEndOverridable: isEndOverridable(config),
      hasStandbys: context.bookmarkHeader !== null,
    });
  }
  for (const { planned } of operations) {
    exchange.targetNameUses.push(...targetNameUsesOf(planned.plan));
  }
  const batch: PlannedBatch = {
    request,
    isolation: document.isolation,
    operations,
    owner: ownerOf(identity, snapshot, identifiers),
  };
  const key = await keyOf(exchange, operations, payload);
  try {
    return await executeBatch(exchange, batch, key);
  } catch (error) {
    if (readsColumns && isRefused(error)) await columns.readAgain();
    throw error;
  }
}

/** Whether the role lacks a privilege: the columns that it may select may have changed. */
function isRefused(error: unknown): boolean {
  return error instanceof OperationError && isInsufficientPrivilege(error.cause);
}

/** Returns the batch as database code sees it before its operations. Throws `106`. */
function describedBatch(
  { method, path, headers, cookies }: RawRequest,
  config: Pick<Config, "dbSchemas">,
): DescribedRequest {
  const { schema } = chooseSchema({ method, headers }, config);
  const preferences = parsePreferences(batchPreferences(headers["prefer"]).join(", "));
  return { method, path, headers, cookies, schema, preferences };
}

/** Throws `107` for other media types than those of a batch, and `122`. */
function checkHead({ headers }: RawRequest, { preferences }: DescribedRequest): void {
  const media = mediaOf(headers);
  if (media.kind !== "batch" && media.kind !== "json") {
    throw errors.unsupportedContentType(canonicalText(media), false);
  }
  const accepted = parseAccept(headers["accept"] ?? null);
  if (!accepted.some(isJsonRange)) throw errors.notAcceptable(accepted.map(canonicalText));
  const invalid = [...otherPreferences(headers["prefer"]), ...preferences.invalid];
  if (preferences.handling === "strict" && invalid.length > 0) {
    throw errors.invalidPreferences(invalid);
  }
}

function isJsonRange(range: ReturnType<typeof parseMediaType>): boolean {
  if (range.kind === "other") return range.text === "application/*";
  return range.kind === "any" || range.kind === "json";
}

/** Throws `141` if the length of the document is known to exceed the limit. */
function checkLength(
  { headers }: RawRequest,
  { batchMaxBytes }: Pick<Config, "batchMaxBytes">,
): void {
  if (Number(headers["content-length"] ?? 0) > batchMaxBytes) {
    throw errors.batchTooLarge("document", batchMaxBytes);
  }
}

function documentReader({ batchMaxBytes }: Pick<Config, "batchMaxBytes">): PayloadReader {
  return { format: "raw", begin: () => new DocumentDecoder(batchMaxBytes) };
}

/** Passes the bytes of a document on, up to a limit. */
class DocumentDecoder extends RawDecoder {
  readonly #maxBytes: number;
  #length = 0;

  constructor(maxBytes: number) {
    super("text");
    this.#maxBytes = maxBytes;
  }

  override write(piece: Uint8Array): Uint8Array {
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) throw errors.batchTooLarge("document", this.#maxBytes);
    return super.write(piece);
  }
}

/**
 * Charges and plans each operation. If a limit refuses one, the operations before it are not charged, so that a
 * repeated batch can succeed.
 */
async function planOperations(
  exchange: Exchange,
  identity: Identity,
  { document, columns }: { readonly document: BatchDocument; readonly columns: RoleColumns },
): Promise<PlannedOperations> {
  const admissions: Admission[] = [];
  const operations: PlannedOperation[] = [];
  const headers = inheritedHeaders(exchange.pieces);
  const plans: DataPlan[] = [];
  const references = new BatchReferences(document.operations);
  let readsColumns = false;
  for (const operation of document.operations) {
    try {
      const pieces = operationRequest(operation, headers);
      admit(exchange, identity, { pieces, admissions });
      const { cache } = exchange.context.snapshot;
      const own = references.of(operation.index, { pieces, earlier: plans, cache: cache! });
      const plan = await planOperation(exchange, operation, { pieces, columns, references: own });
      const { request } = plan;
      const planned = await readableQuery(plan.planned, columns);
      plans.push(planned.plan);
      readsColumns ||= plan.columns !== null || planned.query.unversioned !== undefined;
      const referenceChecks = own?.checks ?? [];
      operations.push({ facts: factsOf(operation), request, planned, referenceChecks });
    } catch (error) {
      if (isRateLimited(error)) { for (const admission of admissions) admission.refund(); }
      throw new OperationError(error, factsOf(operation));
    }
  }
  return { operations, readsColumns };
}

function factsOf({ index, id, method, url }: BatchOperation): FailedOperation {
  return { index, id, method, url: quotable(url) };
}

function isRateLimited(error: unknown): boolean {
  return error instanceof ServiceError && error.fields.code === errors.rateLimited.code;
}

interface PlannedOperations {
  readonly operations: readonly PlannedOperation[];
  /** Whether a plan depends on the columns that the role may select. */
  readonly readsColumns: boolean;
}

/** Throws `131`, `132` and `136` as for a request of its own. */
function admit(
  { context: { snapshot: { rateLimits, config }, onRateLimited }, client, checked }: Exchange,
  identity: Identity,
  { pieces, admissions }: { readonly pieces: RawRequest; readonly admissions: Admission[] },
): void {
  const tooLong = lengthError(Object.entries(pieces.headers), pieces, config);
  if (tooLong !== null) throw tooLong;
  if (rateLimits === null) return;
  const admission = new Admission({
    limits: rateLimits,
    onRefused: onRateLimited,
    client: client(),
    resource: limitedResource(pieces, {
      serverQueryMethod: config.serverQueryMethod,
      dbRootSpec: null,
    }),
  });
  admission.chargeClient();
  admission.chargeIdentity({ ...identity, token: checked.credential.token });
  admissions.push(admission);
}

async function planOperation(
  { context }: Exchange,
  { body }: BatchOperation,
  { pieces, columns, references }: {
    readonly pieces: RawRequest;
    readonly columns: RoleColumns;
    /** Null without references from or to the operation. */
    readonly references: OperationReferences | null;
  },
): Promise<Extract<RequestPlan, { kind: "data" }>> {
  try {
    const plan = await planRequest({
      pieces: references?.marked ?? pieces,
      context,
      stopwatch: new Stopwatch(false),
      columns: () => columns,
      receive: (reader) => decodeBody(reader, body ?? noBytes),
      ...(references === null ? {} : { references }),
    });
    if (plan.kind !== "data") throw new Error("an operation is not a request for data");
    return plan;
  } catch (error) {
    throw references?.unmarked(error) ?? error;
  }
}

/** Returns the key of a batch that writes; null without one. */
async function keyOf(
  { pieces, context: { snapshot: { config } } }: Exchange,
  operations: readonly PlannedOperation[],
  payload: Payload,
): Promise<RequestKey | null> {
  const { idempotencyTable: table, idempotencyTtl: ttlSeconds } = config;
  if (table === null || !hasIdempotencyKey(pieces)) return null;
  if (!operations.some(({ planned }) => mayWrite(planned.plan, config))) return null;
  const text = readIdempotencyKey(pieces);
  return { table, text, fingerprint: await requestFingerprint(pieces, payload), ttlSeconds };
}
