/** Responds to a batch: several operations in one transaction. @module */
import {
  type BatchDocument,
  batchDocumentDecoder,
  type BatchOperation,
  parseBatchDocument,
} from "./batch/batch_document.ts";
import {
  checkBatchHead,
  checkDocumentLength,
  describedBatch,
  inheritedHeaders,
  operationRequest,
} from "./batch/batch_head.ts";
import { OperationError } from "../transaction/operation_error.ts";
import { BatchReferences } from "./batch/batch_references.ts";
import { batchReply } from "./batch/batch_reply.ts";
import { errors } from "../../base/errors/catalogue.ts";
import { quotable } from "../../base/errors/quoting.ts";
import { type FailedOperation, isError } from "../../base/errors/service_error.ts";
import type { Admission } from "../../state/rate_limits/rate_limiter.ts";
import { noBytes } from "../request/body/body_decoder.ts";
import { receiveBody } from "../request/body/body.ts";
import { lengthError } from "../request/length_limits.ts";
import type { RawRequest } from "../request/raw_request.ts";
import type { Reply } from "../response/reply.ts";
import type { DataPlan } from "../transaction/data_plan.ts";
import { isEndOverridable, type RequestOperation } from "../transaction/script.ts";
import { readableQuery, RoleColumns } from "./column_privileges.ts";
import { admissionOf } from "./admission.ts";
import type { Exchange } from "./exchange.ts";
import { bodyOptions } from "./receive_body.ts";
import { planRequest } from "./plan_request.ts";
import { run } from "./run.ts";

/** Responds to a batch. Throws an {@linkcode OperationError} if an operation fails, `140` and `141`
 * for the document. */
export async function respondToBatch(exchange: Exchange): Promise<Reply> {
  const { raw, context, stopwatch } = exchange;
  const { config, cache, cacheError } = context.snapshot;
  if (cache === null) throw cacheError ?? errors.noSchemaCache();
  const request = describedBatch(raw, config);
  checkBatchHead(raw, request);
  const begin = () => batchDocumentDecoder(config.batchMaxBytes);
  const payload = await receiveBody(exchange.request, begin, {
    ...bodyOptions(exchange),
    checks: { head: () => checkDocumentLength(raw, config) },
  });
  const bytes = payload.kind === "raw" ? payload.bytes : noBytes;
  const document = await parseBatchDocument(bytes, { maxOperations: config.batchMaxOperations });
  stopwatch.lap("parse");
  const columns = new RoleColumns(context.columnPrivileges, exchange.identity!.role, exchange);
  const operations = await planOperations(exchange, { document, columns });
  stopwatch.lap("plan");
  context.counters.batchOperations.add(operations.length);
  context.appState.setSpanAttribute?.("svc.batch.operations", operations.length);
  if (operations.length === 0) {
    return batchReply([], {
      preferences: request.preferences,
      isEndOverridable: isEndOverridable(config),
      hasStandbys: context.bookmarkHeader !== null,
    });
  }
  const batch = { request, isolation: document.isolation };
  return await columns.guard(run(exchange, { operations, batch, payload, key: null }));
}

/** Charges and plans each operation. If a limit or the guard refuses one, the charges of earlier
 * operations are undone, so that a repeated batch can succeed. */
async function planOperations(
  exchange: Exchange,
  { document, columns }: { readonly document: BatchDocument; readonly columns: RoleColumns },
): Promise<readonly RequestOperation[]> {
  const admissions: Admission[] = [];
  const operations: RequestOperation[] = [];
  const headers = inheritedHeaders(exchange.raw);
  const plans: DataPlan[] = [];
  const references = new BatchReferences(document.operations);
  const { role, context: { guard, snapshot: { cache } } } = exchange;
  const isRestricted = guard?.operations !== undefined && guard.binds?.(role ?? "") !== false;
  for (const operation of document.operations) {
    try {
      const raw = operationRequest(operation, headers);
      admitOperation(exchange, raw, admissions);
      const own = references.of(operation.index, { earlier: plans, cache: cache!, isRestricted });
      const body = operation.body ?? noBytes;
      const plan = await planRequest(exchange, { raw, body, columns, references: own });
      if (plan.kind !== "data") throw new Error("an operation is not a request for data");
      const planned = await readableQuery(plan.planned, columns);
      plans.push(planned.plan);
      const referenceChecks = own?.checks ?? [];
      operations.push({
        request: plan.request,
        planned,
        place: placeOf(operation),
        referenceChecks,
      });
    } catch (error) {
      const hasNoEffect = [errors.rateLimited, errors.unknownOperation].some((each) =>
        isError(error, each)
      );
      if (hasNoEffect) admissions.forEach((admission) => admission.refund());
      throw new OperationError(error, placeOf(operation));
    }
  }
  return operations;
}

function placeOf({ index, id, method, url }: BatchOperation): FailedOperation {
  return { index, id, method, url: quotable(url) };
}

/** Checks an operation. Throws `131`, `132` and `136`, as for a single request. */
function admitOperation(exchange: Exchange, raw: RawRequest, admissions: Admission[]): void {
  const { identity, credential, context: { snapshot: { config } } } = exchange;
  const tooLong = lengthError(Object.entries(raw.headers), raw, config);
  if (tooLong !== null) throw tooLong;
  const admission = admissionOf(exchange, raw, null);
  if (admission === null) return;
  admission.chargeClient();
  admission.chargeIdentity({ ...identity!, token: credential.token });
  admissions.push(admission);
}
