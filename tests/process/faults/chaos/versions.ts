/** The versions of objects that are replaced while they are used. @module */

/** Objects that have versions. */
export const versionedObjects = ["view", "policy", "trigger", "column", "function"] as const;

export type VersionedObject = (typeof versionedObjects)[number];

/** The versions that an answer may show. */
export interface VersionSpan {
  readonly first: number;
  readonly last: number;
}

interface Progress {
  /** The last version whose creation has begun. */
  begun: number;
  committed: number;
}

/** Counts versions; each object begins with version 0. */
export class Versions {
  readonly #objects = new Map<VersionedObject, Progress>(
    versionedObjects.map((name) => [name, { begun: 0, committed: 0 }]),
  );

  /** Replaces an object by its next version. */
  async replace(
    name: VersionedObject,
    create: (version: number) => Promise<unknown>,
  ): Promise<void> {
    const progress = this.#of(name);
    progress.begun++;
    await create(progress.begun);
    progress.committed = progress.begun;
  }

  /** Begins to observe: the returned function gives the versions that existed since then. */
  observe(): (name: VersionedObject) => VersionSpan {
    const first = new Map([...this.#objects].map(([name, { committed }]) => [name, committed]));
    return (name) => ({ first: first.get(name)!, last: this.#of(name).begun });
  }

  #of(name: VersionedObject): Progress {
    return this.#objects.get(name)!;
  }
}

/** Lists the versions of a span. */
export function versionsIn({ first, last }: VersionSpan): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
