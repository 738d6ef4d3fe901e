/** Starts the engine of an embedded database in a locked folder. @module */
import type { PGlite, PGliteOptions } from "@electric-sql/pglite";
import { type Files, runtimeFiles } from "./files.ts";
import type { InitScript } from "../database.ts";
import { applyInit, type InitResult } from "./init_script.ts";
import { prebuiltData } from "./prebuilt_data.ts";

export interface EngineOptions {
  /** `pglite://memory`, `pglite://<folder>`, or another scheme of PGlite: `pglite://idb://x`. */
  readonly uri: string;
  /** SQL that initialises a new database, in one transaction, or null. */
  readonly init: InitScript | null;
  /** Further options of PGlite: extensions, a data folder to load. */
  readonly pglite?: PGliteOptions;
}

export interface StartedEngine {
  readonly engine: PGlite;
  /** Null without SQL to apply. */
  readonly init: InitResult | null;
  close(): Promise<void>;
}

/** A folder on disk that holds, or will hold, a database. */
interface DataFolder {
  readonly files: Files;
  readonly path: string;
  /** `other`: files that are not a database, which are never removed. */
  readonly state: "absent" | "empty" | "database" | "other";
}

/** Starts an engine. On failure, removes a new folder and rejects with an `Error` of one line. */
export async function startEngine(options: EngineOptions): Promise<StartedEngine> {
  const dataDir = dataDirectory(options.uri);
  const files = runtimeFiles();
  const isFolder = files !== null && !/^[a-z-]+:\/\//.test(dataDir);
  if (!isFolder) return await start(options, dataDir, files);
  const unlock = lockFolder(files, dataDir);
  const folder = { files, path: dataDir, state: stateOf(files, dataDir) } as const;
  try {
    const started = await start(options, dataDir, files, folder);
    return { ...started, close: () => started.close().finally(unlock) };
  } catch (error) {
    removeNew(folder);
    unlock();
    throw error;
  }
}

async function start(
  options: EngineOptions,
  dataDir: string,
  files: Files | null,
  folder: DataFolder | null = null,
): Promise<StartedEngine> {
  const isNew = folder === null
    ? dataDir === memory
    : folder.state === "absent" || folder.state === "empty";
  const engine = await open(options, { dataDir, files: isNew ? files : null, folder });
  const close = () => engine.close();
  try {
    const init = options.init === null ? null : await applyInit(engine, options.init);
    return { engine, init, close };
  } catch (error) {
    await close();
    throw error;
  }
}

const memory = "memory://";

function dataDirectory(uri: string): string {
  const place = uri.slice("pglite://".length);
  return place === "memory" || place === "" ? memory : place;
}

/** Opens a database. Imports PGlite on demand, so that runtimes without it can load a bundle of this file. */
async function open(
  { pglite = {} }: EngineOptions,
  { dataDir, files, folder }: {
    readonly dataDir: string;
    /**
     * Access to files if the database is new; null if it exists, or svc cannot see whether it does.
     */
    readonly files: Files | null;
    readonly folder: DataFolder | null;
  },
): Promise<PGlite> {
  const { PGlite } = await import("@electric-sql/pglite");
  const isUsual = pglite.loadDataDir === undefined && pglite.fs === undefined;
  const prebuilt = files === null || !isUsual ? null : prebuiltData(files);
  const archive = prebuilt?.read() ?? null;
  if (archive !== null) {
    try {
      return await PGlite.create({ ...pglite, dataDir, loadDataDir: archive });
    } catch {
      prebuilt?.discard();
      if (folder !== null) removeNew(folder);
    }
  }
  const engine = await PGlite.create({ ...pglite, dataDir });
  if (prebuilt !== null) {
    // The archive is stored now, because only initdb has written to the database so far.
    await engine.dumpDataDir("gzip").then((dump) => prebuilt.write(dump)).catch(() => {});
  }
  return engine;
}

function stateOf({ fs, path }: Files, folder: string): DataFolder["state"] {
  if (!fs.existsSync(folder)) return "absent";
  if (fs.existsSync(path.join(folder, "PG_VERSION"))) return "database";
  return fs.readdirSync(folder).length === 0 ? "empty" : "other";
}

function removeNew({ files: { fs, path }, path: folder, state }: DataFolder): void {
  if (state === "database" || state === "other") return;
  if (state === "absent") return fs.rmSync(folder, { recursive: true, force: true });
  for (const name of fs.readdirSync(folder)) {
    fs.rmSync(path.join(folder, name), { recursive: true, force: true });
  }
}

interface Holder {
  readonly pid: number;
  readonly startTime: string;
}

/**
 * Locks a folder by a file next to it, `<folder>.lock`, which holds the process's id. Takes over
 * the lock of a process that has ended. Returns a function that removes the lock. Throws an `Error`
 * if another process, or this one, has locked the folder.
 */
export function lockFolder(files: Files, folder: string): () => void {
  const { fs, path, pid, startTimeOf } = files;
  const file = `${folder}.lock`;
  const content = `${pid} ${startTimeOf(pid)}\n`;
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (tryWrite(fs, file, content)) return () => fs.rmSync(file, { force: true });
    const holder = readHolder(fs, file);
    if (holder !== null && isHeld(files, holder)) {
      throw new Error(`${path.basename(folder)} is in use by process ${holder.pid}`);
    }
    fs.rmSync(file, { force: true });
  }
  throw new Error(`cannot lock ${folder}: ${file} is written by other processes`);
}

/**
 * Maximum number of attempts to lock. Several processes may take over the same old lock at a time.
 */
const maxAttempts = 10;

function tryWrite(fs: Files["fs"], file: string, text: string): boolean {
  try {
    fs.writeFileSync(file, text, { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === "EEXIST") return false;
    throw error;
  }
}

function readHolder(fs: Files["fs"], file: string): Holder | null {
  try {
    const [, pid, startTime = ""] = /^(\d+) ?(\d*)\n$/.exec(fs.readFileSync(file, "utf8")) ?? [];
    return pid === undefined ? null : { pid: Number(pid), startTime };
  } catch {
    return null;
  }
}

/** Returns whether the process of a lock still runs. Another process may have got the same id, for
 * example in a new container. Its start time differs. */
function isHeld({ isRunning, startTimeOf }: Files, { pid, startTime }: Holder): boolean {
  return isRunning(pid) && startTimeOf(pid) === startTime;
}
