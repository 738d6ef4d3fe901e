/** Built-in modules of Node's API, in runtimes that have them. @module */

interface Modules {
  readonly "node:buffer": typeof import("node:buffer");
  readonly "node:crypto": typeof import("node:crypto");
  readonly "node:fs": typeof import("node:fs");
  readonly "node:net": typeof import("node:net");
  readonly "node:os": typeof import("node:os");
  readonly "node:path": typeof import("node:path");
  readonly "node:stream": typeof import("node:stream");
  readonly "node:zlib": typeof import("node:zlib");
}

/** Returns a built-in module; null where the runtime lacks it. */
export function builtinModule<Name extends keyof Modules>(name: Name): Modules[Name] | null {
  const { process } = globalThis as { process?: { getBuiltinModule?(name: string): unknown } };
  return process?.getBuiltinModule?.(name) as Modules[Name] | undefined ?? null;
}

export type BuiltinModule<Name extends keyof Modules> = Modules[Name];
