/** Writes and reads notes through handlers with standbys. @module */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  bookmarkOf,
  type ReplicaApi,
  type ReplicaStage,
} from "../../support/database/replica_stage.ts";

/** The servers, and the handler that most rows use. */
export interface Fixture {
  readonly stage: ReplicaStage;
  readonly api: ReplicaApi;
}

/** A row of the table. */
export type Step = readonly [name: string, run: (fixture: Fixture) => Promise<void>];

let lastId = 1;

/** Returns the number of a note that does not exist. */
export function nextId(): number {
  return ++lastId;
}

/** Writes a note; returns its number and the bookmark of the answer. */
export async function writeNote(
  api: ReplicaApi,
  as?: string,
): Promise<{ readonly id: number; readonly bookmark: string }> {
  const id = nextId();
  const response = await api("POST /notes", { body: { id }, ...(as === undefined ? {} : { as }) });
  strictEqual(response.status, 201);
  return { id, bookmark: bookmarkOf(response) };
}

/** Reads a note with the port of the server. */
export function noteLine(id: number): string {
  return `GET /notes?id=eq.${id}&select=id,port`;
}

/** Asserts that a read with a bookmark shows the note, and returns the port of the server. */
export async function readOwn(
  api: ReplicaApi,
  { id, bookmark }: { readonly id: number; readonly bookmark: string },
  as?: string,
): Promise<number> {
  const response = await api(noteLine(id), { bookmark, ...(as === undefined ? {} : { as }) });
  const [row] = JSON.parse(await response.text());
  deepStrictEqual([response.status, row?.id], [200, id]);
  bookmarkOf(response);
  return row.port;
}
