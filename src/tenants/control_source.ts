/**
 * Tenants in a relation or a function of the control database.
 *
 * @module
 */
import { metadataBatch } from "../database/batch.ts";
import type { Database } from "../database/database.ts";
import { Listener } from "../database/notifications/listener.ts";
import { notificationProbe } from "../database/notifications/notification_probe.ts";
import { errorFacts } from "../errors/error_response.ts";
import type { Dialect } from "../dialect.ts";
import { schedule } from "../lib/timers.ts";
import type { Observation } from "../observe/observation.ts";
import { relationStatement } from "../service/revocation_query.ts";
import { type ControlName, parseTenants, tenantsStatement } from "./control_query.ts";
import type { TenantDefinition } from "./tenant_config.ts";
import { isTenantName } from "./tenant_name.ts";
import type { TenantSource } from "./tenant_source.ts";

/** Dependencies of a {@linkcode ControlSource}. */
export interface ControlOptions {
  readonly database: Database;
  readonly relation: ControlName;
  /** Channel of notifications; null for none. */
  readonly channel: string | null;
  readonly dialect: Dialect;
  readonly observe: (event: Observation) => void;
}

/** Reads all tenants at the start, and with each `reload tenants`. */
export class ControlSource implements TenantSource {
  readonly #options: ControlOptions;
  readonly #listener: Listener | null;
  #definitions: ReadonlyMap<string, TenantDefinition> | null = null;
  #onChange = () => {};

  constructor(options: ControlOptions) {
    this.#options = options;
    this.#listener = this.#makeListener();
  }

  async names(): Promise<readonly string[]> {
    if (this.#definitions === null) this.#definitions = await this.#load();
    return Array.from(this.#definitions.keys()).toSorted();
  }

  read(name: string): TenantDefinition | null {
    return this.#definitions?.get(name) ?? null;
  }

  versionOf(name: string): string | null {
    return this.read(name)?.version ?? null;
  }

  isReady(): boolean {
    return this.#definitions !== null;
  }

  /** Keeps the tenants that it knows if the database cannot be read. */
  async reload(): Promise<void> {
    try {
      this.#definitions = await this.#load();
    } catch (error) {
      this.#options.observe({ kind: "tenants-failed", reason: (error as Error).message });
      return;
    }
    this.#onChange();
  }

  async #load(): Promise<ReadonlyMap<string, TenantDefinition>> {
    const { relation, database, dialect } = this.#options;
    try {
      const { rows } = await database.transaction(metadataBatch([relationStatement(relation)]));
      const isRelation = rows.at(-1)?.[0]?.[0] === "t";
      const statement = tenantsStatement(relation, { isRelation });
      const answer = (await database.transaction(metadataBatch([statement]))).rows;
      const found = parseTenants(answer.at(-1)?.[0]?.[0] ?? "[]");
      return new Map(
        found.filter(({ name }) => isTenantName(name)).map(({ name, text }) => [name, {
          file: { path: `${relation.schema}.${relation.name}(${name})`, text },
          isFile: false,
          version: text,
        }]),
      );
    } catch (cause) {
      const { message, details } = errorFacts(cause, dialect);
      const detail = typeof details === "string" ? ` (${details})` : "";
      throw new Error(
        `tenants: cannot read ${relation.schema}.${relation.name}: ${message}${detail}`,
        { cause },
      );
    }
  }

  #makeListener(): Listener | null {
    const { database, observe } = this.#options;
    const { subscribe } = database;
    if (subscribe === null) return null;
    return new Listener({
      subscribe,
      probe: notificationProbe(database),
      onReloadRequested: (what) => {
        if (what === "tenants") void this.reload();
      },
      onMissed: () => void this.reload(),
      onProbed: (result, channel) => {
        if (result === "lost") {
          observe({ kind: "notifications-lost", channel, effect: "no reload" });
        }
      },
      onUnsupported: (reason, channel) =>
        observe({ kind: "notifications-unsupported", channel, reason, effect: "no reload" }),
      isRetried: () => true,
      onBrokenQueue: () => {},
      observe,
      now: Date.now,
      schedule,
    });
  }

  start(onChange: () => void): void {
    this.#onChange = onChange;
    this.#listener?.configure(this.#options.channel);
  }

  async close(): Promise<void> {
    await this.#listener?.stop();
    await this.#options.database.close();
  }
}
