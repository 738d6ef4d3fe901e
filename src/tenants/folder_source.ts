/**
 * Tenants in a folder: one file `<name>.conf` each.
 *
 * @module
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { readBytes } from "../cli/config_files.ts";
import { errorCode } from "../lib/error_code.ts";
import type { Schedule } from "../lib/timers.ts";
import type { TenantDefinition } from "./tenant_config.ts";
import { isTenantName } from "./tenant_name.ts";
import type { TenantSource } from "./tenant_source.ts";

const extension = ".conf";

/** Milliseconds between two looks at the files of loaded tenants. */
const intervalMs = 1000;

/** Reads tenants from a folder. A file counts from its creation on. */
export class FolderSource implements TenantSource {
  readonly #folder: string;
  readonly #schedule: Schedule;
  #stop = () => {};

  constructor(folder: string, schedule: Schedule) {
    this.#folder = folder;
    this.#schedule = schedule;
  }

  // deno-lint-ignore require-await -- a folder that cannot be read rejects
  async names(): Promise<readonly string[]> {
    return this.#files()
      .filter((file) => file.endsWith(extension))
      .map((file) => file.slice(0, -extension.length))
      .filter(isTenantName)
      .toSorted();
  }

  #files(): readonly string[] {
    try {
      return readdirSync(this.#folder);
    } catch (cause) {
      const code = errorCode(cause) ?? "cannot be read";
      throw new Error(`tenants: cannot read the folder ${this.#folder}: ${code}`, { cause });
    }
  }

  read(name: string): TenantDefinition | null {
    const version = this.versionOf(name);
    if (version === null) return null;
    const path = this.#path(name);
    const text = new TextDecoder().decode(readBytes(path).content);
    return { file: { path, text }, isFile: true, version };
  }

  versionOf(name: string): string | null {
    try {
      const found = statSync(this.#path(name), { throwIfNoEntry: false });
      return found?.isFile() ? `${found.mtimeMs} ${found.size} ${found.ino}` : null;
    } catch {
      return null;
    }
  }

  #path(name: string): string {
    return join(this.#folder, name + extension);
  }

  isReady(): boolean {
    return statSync(this.#folder, { throwIfNoEntry: false })?.isDirectory() ?? false;
  }

  reload(): Promise<void> {
    return Promise.resolve();
  }

  start(onChange: () => void): void {
    const wait = () => {
      this.#stop = this.#schedule(() => {
        onChange();
        wait();
      }, intervalMs);
    };
    wait();
  }

  close(): Promise<void> {
    this.#stop();
    return Promise.resolve();
  }
}
