/**
 * A device that takes notes offline, and synchronizes them. Of two changes of a note the later one stays.
 *
 * @module
 */

/** A note as a device has it. */
export interface Note {
  readonly id: string;
  readonly text: string;
  /** ISO 8601. */
  readonly edited_at: string;
  readonly is_deleted: boolean;
}

/** Sends requests, as `fetch` does. */
export type Send = (request: Request) => Promise<Response>;

/** Upserts changed notes, unless the service has a later change. */
const push = "/notes?on_conflict=id&columns=id,text,edited_at,is_deleted" +
  "&on_conflict.where=(edited_at.lt(excluded).edited_at)";
/** Notes of one answer. */
const pageSize = 100;

/** A device. Its notes can be read and changed at any time. */
export class Device {
  readonly #origin: string;
  readonly #send: Send;
  readonly #now: () => Date;
  readonly #notes = new Map<string, Note>();
  /** Notes that the service may not have. */
  readonly #changed = new Set<string>();
  /** Last revision that the device has seen. */
  #revision = 0;

  constructor(origin: string, send: Send = fetch, now: () => Date = () => new Date()) {
    this.#origin = origin;
    this.#send = send;
    this.#now = now;
  }

  /** Returns the texts of the notes by their ids. */
  get notes(): ReadonlyMap<string, string> {
    const shown = [...this.#notes.values()].filter(({ is_deleted }) => !is_deleted);
    return new Map(shown.map(({ id, text }) => [id, text]));
  }

  /** Writes a note; without an id a new one. */
  write(text: string, id: string = crypto.randomUUID()): string {
    return this.#change({ id, text, is_deleted: false });
  }

  /** Deletes a note. The service keeps its mark, so that other devices learn of it. */
  delete(id: string): void {
    this.#change({ id, text: "", is_deleted: true });
  }

  #change(note: Omit<Note, "edited_at">): string {
    this.#notes.set(note.id, { ...note, edited_at: this.#now().toISOString() });
    this.#changed.add(note.id);
    return note.id;
  }

  /** Sends own changes, then reads those of others. A call that fails can be repeated. */
  async synchronize(): Promise<void> {
    const sent = [...this.#changed].map((id) => this.#notes.get(id)!);
    if (sent.length > 0) {
      await this.#request("POST", push, sent);
      for (const note of sent) {
        // It may have changed again meanwhile.
        if (this.#notes.get(note.id) === note) this.#changed.delete(note.id);
      }
    }
    for (let count = pageSize; count === pageSize;) count = await this.#pull();
  }

  /** Reads the next notes. Returns their number. */
  async #pull(): Promise<number> {
    const path = `/notes?revision=gt.${this.#revision}&order=revision&limit=${pageSize}`;
    const rows: readonly (Note & { readonly revision: number })[] = JSON.parse(
      await this.#request("GET", path),
    );
    for (const { revision, ...note } of rows) {
      this.#revision = revision;
      const own = this.#notes.get(note.id);
      const isLater = own !== undefined && Date.parse(own.edited_at) > Date.parse(note.edited_at);
      if (!isLater) this.#notes.set(note.id, note);
    }
    return rows.length;
  }

  async #request(method: string, path: string, body?: unknown): Promise<string> {
    const response = await this.#send(
      new Request(this.#origin + path, {
        method,
        headers: {
          "Content-Type": "application/json",
          "Prefer": "resolution=merge-duplicates",
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    const text = await response.text();
    if (!response.ok) throw new Error(JSON.parse(text).message);
    return text;
  }
}
