/** Statements by which a write with an `Idempotency-Key` takes effect once. The key is a row that
 * is committed together with the effect and the response. @module */
import type { TableName } from "../../state/config/codecs.ts";
import type { Statement, StatementRole } from "../../database/transaction.ts";
import { errors } from "../../base/errors/catalogue.ts";
import type { DatabaseError } from "../../base/errors/service_error.ts";
import { compile, ident, param, type Sql, sql } from "../../base/sql/fragment.ts";
import { raise, raisedDetail } from "../../base/sql/raise.ts";

/** A key, and a hash that identifies the request. */
export interface RequestKey {
  readonly table: TableName;
  readonly text: string;
  /** Hash of the request. */
  readonly fingerprint: Uint8Array;
  /** Age at which the key expires. */
  readonly ttlSeconds: number;
}

/** A response as the table of keys stores it. */
export interface KeptAnswer {
  readonly status: number;
  /** JSON text. */
  readonly headers: string;
  /** Null if the response has no body. */
  readonly body: Uint8Array | null;
}

const claims =
  sql`nullif(pg_catalog.current_setting('request.jwt.claims', true), '')::pg_catalog.json`;

/** The owner of a key. Equal keys of different roles, issuers or subjects are different keys. */
const principal =
  sql`pg_catalog.json_build_array(current_user, ${claims} operator(pg_catalog.->>) 'iss', ${claims} operator(pg_catalog.->>) 'sub')::pg_catalog.text`;

/**
 * Locks the key without waiting, deletes it if it has expired, and inserts it. Raises `in progress`
 * if another request has the lock. A duplicate means that a request with the key was committed.
 */
export function keyStatements(key: RequestKey): readonly Statement[] {
  const text = param(key.text);
  const age = sql`pg_catalog.make_interval(secs => ${
    param(String(key.ttlSeconds))
  }::pg_catalog.float8)`;
  const lock =
    sql`pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(${text}::pg_catalog.text || ${principal}, 0))`;
  return [
    statement(sql`select case when not ${lock} then ${raise(sql`'in progress'`)} end`),
    statement(
      sql`delete from ${tableOf(key)} where ${
        isOwn(key)
      } and created_at < pg_catalog.now() - ${age}`,
    ),
    statement(sql`insert into ${tableOf(key)} (principal, key, fingerprint)
values (${principal}, ${text}, ${fingerprintOf(key)})`),
  ];
}

/** Stores the response in the row of the key, or deletes the row. Raises `other owner` if the row
 * is missing, because the write has changed the role or the claims. */
export function closingStatement(key: RequestKey, answer: KeptAnswer | null): Statement {
  const change = answer === null
    ? sql`delete from ${tableOf(key)}`
    : sql`update ${tableOf(key)} set status = ${param(String(answer.status))}, headers = ${
      param(answer.headers)
    }, body = ${param(answer.body === null ? null : { binary: answer.body })}`;
  return {
    ...statement(
      sql`with changed as (${change} where ${
        isOwn(key)
      } returning 1) select case when pg_catalog.count(*) = 0 then ${
        raise(sql`'other owner'`)
      } end from changed`,
    ),
    role: "answer",
  };
}

/** Reads the response: whether the request is the same, status, headers and body. */
export function answerStatement(key: RequestKey): Statement {
  const columns = sql`(fingerprint = ${
    fingerprintOf(key)
  })::pg_catalog.text, status::pg_catalog.text, headers::pg_catalog.text, body`;
  const found = sql`${isOwn(key)} and status is not null`;
  return {
    ...compile(sql`select ${columns} from ${tableOf(key)} where ${found}`),
    use: "result",
  };
}

function isOwn(key: RequestKey): Sql {
  return sql`principal = ${principal} and key = ${param(key.text)}`;
}

function tableOf({ table: { schema, name } }: RequestKey): Sql {
  return ident(schema, name);
}

function fingerprintOf({ fingerprint }: RequestKey): Sql {
  return param({ binary: fingerprint });
}

function statement(fragment: Sql): Statement {
  return { ...compile(fragment), use: "none", role: "key" };
}

/** Reports that a transaction was rolled back because its key is in the table. */
export class KeyTakenError extends Error {}

/** Returns the error of a key statement or of the statement that stores the response; otherwise null. */
export function keyError(
  { failure }: DatabaseError,
  role: StatementRole | undefined,
): Error | null {
  if (role !== "key" && role !== "answer") return null;
  switch (raisedDetail(failure)) {
    case "in progress":
      return errors.idempotencyKeyInProgress();
    case "other owner":
      return errors.internal(changedOwner);
    default:
      return role === "key" && failure.sqlstate === uniqueViolation ? new KeyTakenError() : null;
  }
}

const uniqueViolation = "23505";

const changedOwner = "The request changes its role or request.jwt.claims, so its Idempotency-Key " +
  "cannot be kept";
