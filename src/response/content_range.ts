/**
 * The `Content-Range` header, and the status that follows from the range.
 *
 * @module
 */
import type { Dialect } from "../dialect.ts";
import type { HeaderList } from "../lib/header_list.ts";

/** Returns `Content-Range`, and `Range-Unit` in dialects that send it. */
export function rangeHeaders(
  { first, rows, total }: {
    readonly first: bigint;
    readonly rows: number;
    readonly total: number | null;
  },
  { rangeUnit }: Pick<Dialect, "rangeUnit">,
): HeaderList {
  const isBeyond = total !== null && first > total;
  const range = rows > 0 && total !== 0 && !isBeyond
    ? `${first}-${first + BigInt(rows) - 1n}`
    : "*";
  return contentRange(`${range}/${total ?? "*"}`, rangeUnit);
}

/** Returns `Content-Range` with this value, and `Range-Unit` in dialects that send it. */
export function contentRange(value: string, rangeUnit: Dialect["rangeUnit"]): HeaderList {
  const header = ["Content-Range", value] as const;
  return rangeUnit === "sent" ? [["Range-Unit", "items"], header] : [header];
}

/** Returns 416 for a range after the last row, 206 for a part of the rows, otherwise 200. */
export function rangeStatus(
  { first, rows, total }: {
    readonly first: bigint;
    readonly rows: number;
    readonly total: number | null;
  },
): 200 | 206 | 416 {
  if (total === null) return 200;
  if (first > total) return 416;
  return rows < total ? 206 : 200;
}
