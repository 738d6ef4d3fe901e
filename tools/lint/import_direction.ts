/** The rule that a file imports from the same room or a lower one, and that a wing imports no other
 * wing. @module */
import { visitImports } from "./imports.ts";
import { importedPath, projectPath } from "./project_path.ts";

/** The rooms of `src/`, and the two entry files, from the lowest to the highest. */
const rooms: readonly (readonly string[])[] = [
  ["src/base"],
  ["src/database"],
  ["src/state"],
  ["src/api"],
  ["src/wings"],
  // The command `demo` contains the files of examples.
  ["src/process", "examples/shop", "examples/todos"],
  ["mod.ts", "main.ts"],
];

/** Folders within a room, from the lowest to the highest. Files of the room itself are the highest. */
const floors: Readonly<Record<string, readonly string[]>> = {
  "src/database": [
    "protocol",
    "connect",
    "connection",
    "notifications",
    "pool",
    "replicas",
    "adapters",
    "open.ts",
  ],
  "src/state": ["config", "schema_cache", "auth", "rate_limits", "app_state"],
  "src/api": ["request", "plan", "query", "transaction", "response", "handler"],
};

/** Lower folders whose values a folder must not import. Imports of types are permitted. */
const hidden: readonly { readonly from: string; readonly to: string; readonly why: string }[] = [
  { from: "src/api/plan", to: "src/base/sql", why: "plans know nothing of SQL text" },
  {
    from: "src/api/query",
    to: "src/api/request/api_request.ts",
    why: "queries see the plan alone",
  },
];

/** The one folder of a wing that other wings may import. */
const sharedCatalogue = "src/wings/audit/access/";

/**
 * The files of `src/process/` that may import wings: the list of all wings, and modules of bundles with
 * some of them. Other files use wings through the type `Wing` only.
 */
const wingUsers: ReadonlySet<string> = new Set([
  "src/process/handler_config.ts",
  "src/process/server/create_admin.ts",
  "src/process/wings.ts",
]);

/** An import of a file by another file. Paths begin at the project's root. */
interface Use {
  readonly from: string;
  readonly to: string;
  readonly isTypeOnly: boolean;
}

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

/** Returns the room of a path with its rank; null for a path outside of all rooms. */
function roomOf(path: string): { readonly room: string; readonly rank: number } | null {
  for (const [rank, names] of rooms.entries()) {
    const room = names.find((name) => isIn(path, name));
    if (room !== undefined) return { room, rank };
  }
  return null;
}

/** Returns the rank of a path within its room; -1 for a file outside of the ranked folders. */
function floorOf(path: string, room: string): number {
  return (floors[room] ?? []).findIndex((name) => isIn(path, `${room}/${name}`));
}

/** Returns the folder of a file's wing: `src/wings/live/scope.ts` gives `src/wings/live`. */
function wingOf(path: string): string {
  return path.split("/", 3).join("/");
}

function problemOf({ from, to, isTypeOnly }: Use): string | null {
  const [own, other] = [roomOf(from), roomOf(to)];
  if (own === null) return null;
  if (other === null) return `${own.room} must not import ${to}, which is in no room`;
  if (other.rank > own.rank) {
    return `${own.room} must not import ${other.room}, which stands above it`;
  }
  if (own.room === "src/wings" && other.room === "src/wings") {
    if (wingOf(from) === wingOf(to) || to.startsWith(sharedCatalogue)) return null;
    return `${wingOf(from)} must not import ${wingOf(to)}: no wing imports another one`;
  }
  if (own.room === "src/process" && other.room === "src/wings" && !wingUsers.has(from)) {
    return `${from} must not import ${to}: it finds wings in src/process/wings.ts`;
  }
  if (own.room === other.room) {
    const [floor, otherFloor] = [floorOf(from, own.room), floorOf(to, own.room)];
    if (floor >= 0 && otherFloor > floor) {
      const [lower, higher] = [floors[own.room]![floor], floors[own.room]![otherFloor]];
      return `${own.room}/${lower} must not import ${own.room}/${higher}, which stands above it`;
    }
  }
  const secret = hidden.find((pair) => from.startsWith(pair.from) && to.startsWith(pair.to));
  if (secret === undefined || isTypeOnly) return null;
  return `${secret.from} must not import ${secret.to}: ${secret.why}`;
}

export const importDirection: Deno.lint.Rule = {
  create(context) {
    const from = projectPath(context.filename);
    if (from.startsWith("examples/") || (!from.startsWith("src/") && roomOf(from) === null)) {
      return {};
    }
    return {
      Program(node) {
        const message = `${from} is in no room: src has six, see tools/lint/import_direction.ts`;
        if (roomOf(from) === null) context.report({ node, message });
      },
      ...visitImports(({ node, specifier, isTypeOnly }) => {
        const to = importedPath(from, specifier);
        const message = to === null ? null : problemOf({ from, to, isTypeOnly });
        if (message !== null) context.report({ node, message });
      }),
    };
  },
};
