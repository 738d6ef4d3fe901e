/// <reference lib="dom" />
/**
 * The entity tag of a row, which keeps a change from overwriting that of another client.
 *
 * @module
 */
import { useEffect, useState } from "preact/hooks";
import type { ConsoleRelation } from "../admin/console_data.ts";
import { callApi, errorOf, rowsOf } from "./api.ts";
import { type GridRow, keyQuery } from "./edit.ts";
import { guarded, profileHeader, serviceState } from "./model.ts";

/** A row as it is now. */
interface CurrentRow {
  /** Value of `If-Match`; null for none. */
  readonly tag: string | null;
  /** Null if the row was not read. */
  readonly row: GridRow | null;
  /** False while the row is read. */
  readonly isKnown: boolean;
}

/** Reads a row and its tag once. Without `etag-mode`, it reads nothing. */
export function useRowTag(relation: ConsoleRelation, row: GridRow): CurrentRow {
  const mode = serviceState.value?.features.tags ?? "off";
  const [current, setCurrent] = useState<CurrentRow>({
    tag: null,
    row: null,
    isKnown: mode === "off",
  });
  useEffect(() => {
    if (mode === "off") return;
    void guarded(async () => {
      const answer = await callApi({
        method: "GET",
        path: encodeURIComponent(relation.name),
        query: keyQuery(relation, row),
        headers: profileHeader(relation.schema, "GET"),
        body: null,
      });
      const read = errorOf(answer) === null ? rowsOf(answer)[0] ?? null : null;
      const tag = versionTag(answer.headers.get("ETag")) ?? (mode === "required" ? "*" : null);
      setCurrent({ tag, row: read, isKnown: true });
    });
  }, []);
  return current;
}

/** Returns a tag that has the version of a row; null for others, which match nothing. */
function versionTag(tag: string | null): string | null {
  return tag !== null && /^"[0-9a-f]{16}-/.test(tag) ? tag : null;
}
