/** Renders the version of a row, and the entity tag of a result. @module */
import type { BodyFormat } from "../plan/negotiate.ts";
import type { Tagging, WritePrecondition } from "../plan/write/preconditions.ts";
import { type RowVersion, versionsIn } from "../plan/write/row_version.ts";
import type { ApiRequest } from "../request/api_request.ts";
import { ident, join, ownName, param, type Sql, sql } from "../../base/sql/fragment.ts";
import { arrayLiteral } from "../../base/sql/array_literal.ts";

/** Additional column with the version of a row, in RETURNING and in versioned rows. */
export const versionColumn = ownName("version");
export const rowColumn = ownName("row");

/** Source of a row's version: the row of the relation, or a column of RETURNING. */
export type VersionSource = RowVersion | { readonly kind: "returned" };

/** Renders the version of a row as a named column: 16 hexadecimal digits. */
export function renderVersion(version: VersionSource, row: Sql): Sql {
  switch (version.kind) {
    case "system":
      return sql`pg_catalog.lpad(pg_catalog.to_hex(pg_catalog.hashtextextended(${row}.tableoid::pg_catalog.text || ':' || ${row}.xmin::pg_catalog.text || ':' || ${row}.ctid::pg_catalog.text, 0)), 16, '0')`;
    case "columns": {
      // The binary form is used: it does not depend on settings such as the time zone.
      const values = join(version.columns.map((name) => sql`${row}.${ident(name)}`));
      return sql`pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.record_send(row(${values}))), 'hex'), 16)`;
    }
    case "returned":
      return sql`${row}.${versionColumn}`;
    default:
      return version satisfies never;
  }
}

export function hasVersion(
  { version, versions }: Extract<WritePrecondition, { kind: "version" }>,
  row: Sql,
): Sql {
  if (version === null) return sql`false`;
  return sql`${renderVersion(version, row)} = any(${
    param(arrayLiteral(versions))
  }::pg_catalog.text[])`;
}

/** Returns the parameter with the tags of a request; null if the request lists no tags. */
export function tagsParam(
  { action, preconditions: { ifMatch, ifNoneMatch } }: Pick<ApiRequest, "action" | "preconditions">,
): string | null {
  const isWrite = action.kind === "update" || action.kind === "delete";
  const tags = isWrite ? ifMatch : ifNoneMatch;
  if (tags === null || tags === "*") return null;
  return arrayLiteral(isWrite ? versionsIn(tags) : tags.map(({ opaque }) => opaque));
}

/** A result without its tag, which is computed from it. */
export interface UntaggedResult {
  readonly rows: Sql;
  readonly total: Sql;
  /** Stores the rows for later operations of a batch; null if they are not stored. */
  readonly kept?: Sql | null;
  /** Renders the metadata columns after the total. They depend on `kept`, so that PostgreSQL
   * evaluates `kept` first. */
  readonly metadata: (kept: Sql | null) => readonly Sql[];
  readonly body: Sql;
  /** Version of the single row; NULL unless there is exactly one row. */
  readonly version: Sql;
  readonly from: Sql;
  readonly format: BodyFormat;
  /** Whether the body is the whole response. Default: true. */
  readonly isWhole?: Sql;
}

const result = ownName("result");
const rows = ident("rows");
const total = ident("total");
const version = ident("version");
const body = ident("body");
const kept = ident("kept");
const isWhole = ident("is_whole");
const tag = ident("tag");

/**
 * Renders the select of a result with its tag before the body: the row's version, a hyphen, and the
 * hash of body and total. The body is NULL if the client already has it.
 *
 * OFFSET 0 keeps PostgreSQL from computing the body twice, and from reading `response.*` before it.
 */
export function renderTagged(untagged: UntaggedResult, { unlessTag }: Tagging): Sql {
  const columns = [
    sql`${untagged.rows} as ${rows}`,
    sql`${untagged.total} as ${total}`,
    sql`${untagged.version} as ${version}`,
    sql`${untagged.body} as ${body}`,
    ...optional(untagged.kept, kept),
    ...optional(untagged.isWhole, isWhole),
  ];
  const made = sql`select ${join(columns)} from ${untagged.from} offset 0`;
  const hash = tagOf(untagged);
  const isKept = (untagged.kept ?? null) !== null;
  const metadata = join(untagged.metadata(isKept ? sql`${result}.${kept}` : null));
  if (unlessTag === null) {
    return sql`select ${rows}, ${total}, ${metadata}, ${hash}, ${body} from (${made}) as ${result}`;
  }
  const tagged = sql`select *, ${hash} as ${tag} from (${made}) as ${result} offset 0`;
  const sent = sql`case when ${isKnown(unlessTag)} then null else ${body} end`;
  return sql`select ${rows}, ${total}, ${metadata}, ${tag}, ${sent} from (${tagged}) as ${result}`;
}

function optional(value: Sql | null | undefined, name: Sql): readonly Sql[] {
  return value === null || value === undefined ? [] : [sql`${value} as ${name}`];
}

/** Renders the tag. The tag is NULL if the body is NULL. In the hashed text, a line feed separates
 * body and total. */
function tagOf({ format, isWhole: hasWhole }: UntaggedResult): Sql {
  const end = sql`E'\\n' || coalesce(${result}.${total}, '')`;
  const isBinary = (format.kind === "aggregate" || format.kind === "value") && format.binary;
  const bytes = isBinary
    ? sql`${result}.${body} || pg_catalog.convert_to(${end}, 'UTF8')`
    : sql`pg_catalog.convert_to(${result}.${body}::pg_catalog.text || ${end}, 'UTF8')`;
  const hash = sql`pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(${bytes}), 'hex'), 32)`;
  const text = sql`coalesce(${result}.${version}, '') || '-' || ${hash}`;
  return hasWhole === undefined ? text : sql`case when ${result}.${isWhole} then ${text} end`;
}

/** Renders whether the client has the body. It is false if functions may have set another status or
 * tag. An escape in `response.headers` may hide the name `ETag`, so any escape makes it false. */
function isKnown(unlessTag: readonly string[] | "*"): Sql {
  const isListed = unlessTag === "*"
    ? sql`${tag} is not null`
    : sql`${tag} = any(${param(arrayLiteral(unlessTag))}::pg_catalog.text[])`;
  return sql`${isListed} and coalesce(pg_catalog.current_setting('response.status', true), '') = '' and coalesce(pg_catalog.current_setting('response.headers', true), '') !~* 'etag|\\\\'`;
}
