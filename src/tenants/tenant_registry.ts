/** The tenants that are loaded. A tenant is loaded with its first request, and closed when it is
 * idle, when others need its place, or when its definition changes. @module */
import { errors } from "../errors/catalogue.ts";
import { ServiceError } from "../errors/service_error.ts";
import type { RequestInfo } from "../handler/handler.ts";
import { withTimeout } from "../lib/time_limits.ts";
import { type Deferred, deferred } from "../lib/deferred.ts";
import { nextBackoff, type Schedule } from "../lib/timers.ts";
import type { Observation, TenantEnd } from "../observe/observation.ts";

/** A tenant that can serve requests. */
export interface LoadedTenant {
  /** Version of the definition that it was made from. */
  readonly version: string;
  handle(request: Request, info?: RequestInfo): Promise<Response>;
  isReady(): Promise<boolean>;
  /** Number of open connections. */
  connections(): number;
  reloadSchema(): Promise<void>;
  reloadConfig(): Promise<void>;
  /** Ends streams that have no end of their own. */
  endStreams(): void;
  close(): Promise<void>;
}

/** A load of a tenant. */
export interface OpeningTenant {
  /** Ends the tenant later. */
  readonly onFailed: (reason: string) => void;
  /** Aborted if the load takes too long, or is no longer needed. */
  readonly signal: AbortSignal;
}

/** Dependencies of a {@linkcode TenantRegistry}. */
export interface RegistryOptions {
  /** Loads a tenant; null for an unknown one. Rejects if it cannot be served. */
  readonly open: (name: string, opening: OpeningTenant) => Promise<LoadedTenant | null>;
  /** Returns the version of a tenant's definition; null for an unknown one. */
  readonly versionOf: (name: string) => string | null;
  /** Tenants that have connections at a time: those that load, are loaded, or are being closed. */
  readonly maxLoaded: number;
  /** Milliseconds; 0 keeps idle tenants. */
  readonly idleMs: number;
  readonly observe: (event: Observation) => void;
  /** Milliseconds. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** A tenant as the admin server shows it. */
export interface TenantState {
  readonly name: string;
  readonly state: "loading" | "loaded" | "failed";
  readonly connections: number;
  readonly requests: number;
}

type TenantPhase =
  | { readonly kind: "loading"; readonly loading: Promise<LoadedTenant> }
  | { readonly kind: "loaded"; readonly tenant: LoadedTenant }
  | { readonly kind: "closed" };

interface TenantSlot {
  readonly name: string;
  /** Version of the definition when the load began. */
  readonly version: string;
  /** Resolves when the load has its turn, or has ended without one. */
  readonly turn: Deferred<void>;
  /** Aborts the load. */
  readonly aborter: AbortController;
  phase: TenantPhase;
  /** Requests in progress. */
  requests: number;
  usedAt: number;
  /** Settles when no request is in progress; null unless the tenant is being closed. */
  drained: Deferred<void> | null;
}

interface TenantFailure {
  readonly retryAt: number;
  readonly seconds: number;
}

/** Milliseconds that a request waits for its tenant, from the turn of its load on. */
const maxWaitMs = 5000;

/** Loads at a time. Each occupies the thread and connections of its server. */
const maxLoads = 8;

/** Milliseconds after which a load is aborted: its database may never answer. */
const maxLoadMs = 60_000;

/** Failures that are remembered. */
const maxFailures = 10_000;

/** Holds the loaded tenants. */
export class TenantRegistry {
  readonly #options: RegistryOptions;
  /** The least recently used one is first. */
  readonly #slots = new Map<string, TenantSlot>();
  readonly #failures = new Map<string, TenantFailure>();
  readonly #turns = new Turns(maxLoads);
  readonly #places: Turns;
  /** Tenants that are being closed. */
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;
  #stopIdleCheck = () => {};

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#places = new Turns(options.maxLoaded);
    if (options.idleMs > 0) this.#scheduleIdleCheck();
  }

  /**
   * Handles a request to a tenant. Rejects with `316` for an unknown one, and with `317` for one that
   * cannot be served now.
   */
  async handle(name: string, request: Request, info?: RequestInfo): Promise<Response> {
    const slot = this.#use(name);
    slot.requests++;
    try {
      const { phase } = slot;
      const tenant = phase.kind === "loaded" ? phase.tenant : await this.#await(slot);
      return await tenant.handle(request, info);
    } finally {
      slot.requests--;
      slot.usedAt = this.#options.now();
      if (slot.requests === 0) slot.drained?.resolve();
    }
  }

  /** Returns whether a tenant can serve requests; null for an unknown one. Loads it if it is not loaded. */
  async isReady(name: string): Promise<boolean | null> {
    if (this.#options.versionOf(name) === null) return null;
    try {
      return await (await this.#await(this.#use(name))).isReady();
    } catch {
      return false;
    }
  }

  /** Returns the loaded tenants, those that are being loaded, and those that failed. */
  states(): readonly TenantState[] {
    const loaded = Array.from(this.#slots.values(), ({ name, phase, requests }): TenantState => ({
      name,
      state: phase.kind === "loaded" ? "loaded" : "loading",
      connections: phase.kind === "loaded" ? phase.tenant.connections() : 0,
      requests,
    }));
    const failed = Array.from(this.#failures.keys())
      .filter((name) => !this.#slots.has(name))
      .map((name): TenantState => ({ name, state: "failed", connections: 0, requests: 0 }));
    return [...loaded, ...failed];
  }

  /**
   * Closes the tenants whose definition was removed, and loads those anew whose definition changed. Aborts
   * loads of old definitions.
   */
  check(): void {
    for (const [name, { phase, version: began }] of [...this.#slots]) {
      const version = this.#options.versionOf(name);
      if (version === (phase.kind === "loaded" ? phase.tenant.version : began)) continue;
      this.#end(name, version === null ? "removed" : "changed");
      if (version !== null && phase.kind === "loaded") {
        this.#await(this.#use(name)).catch(() => {});
      }
    }
  }

  /** Reloads the loaded tenants, one after the other. Waits for none that takes long: its database may hang. */
  async reload(what: "reloadSchema" | "reloadConfig"): Promise<void> {
    for (const { phase } of [...this.#slots.values()]) {
      if (phase.kind !== "loaded") continue;
      await withTimeout(maxWaitMs, phase.tenant[what](), this.#options.schedule);
    }
  }

  /** Ends the streams of all tenants. */
  endStreams(): void {
    for (const { phase } of this.#slots.values()) {
      if (phase.kind === "loaded") phase.tenant.endStreams();
    }
  }

  /** Closes all tenants. Resolves when their requests have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopIdleCheck();
    for (const name of [...this.#slots.keys()]) this.#end(name, "shutdown");
    await Promise.all(this.#closing);
  }

  /**
   * Returns the place of a tenant, and begins to load it if it is not loaded. Throws `316` for an unknown one,
   * and `317` after a failure.
   */
  #use(name: string): TenantSlot {
    let slot = this.#slots.get(name);
    if (slot === undefined) {
      this.#checkFailure(name);
      slot = this.#load(name);
    } else {
      this.#slots.delete(name);
    }
    this.#slots.set(name, slot);
    slot.usedAt = this.#options.now();
    return slot;
  }

  #checkFailure(name: string): void {
    if (this.#isClosed) throw errors.tenantUnavailable(1);
    const waitMs = (this.#failures.get(name)?.retryAt ?? 0) - this.#options.now();
    if (waitMs > 0) throw errors.tenantUnavailable(Math.ceil(waitMs / 1000));
  }

  #load(name: string): TenantSlot {
    const version = this.#options.versionOf(name);
    if (version === null) throw errors.unknownTenant();
    const loading = Promise.resolve().then(() => this.#open(slot));
    const slot: TenantSlot = {
      name,
      version,
      turn: deferred<void>(),
      aborter: new AbortController(),
      phase: { kind: "loading", loading },
      requests: 0,
      usedAt: this.#options.now(),
      drained: null,
    };
    loading.catch((error) => {
      slot.turn.resolve();
      if (!this.#isCurrent(slot)) return;
      this.#slots.delete(name);
      if (!isUnknownTenant(error)) this.#fail(name, reasonOf(error));
    });
    return slot;
  }

  #isCurrent(slot: TenantSlot): boolean {
    return this.#slots.get(slot.name) === slot;
  }

  /** Opens a tenant when few others are being opened, and when there is a place for its connections. */
  async #open(slot: TenantSlot): Promise<LoadedTenant> {
    await this.#turns.begin();
    const place = this.#places.begin();
    this.#makeRoom();
    await place;
    slot.turn.resolve();
    const began = this.#options.now();
    const opening = this.#isCurrent(slot) ? this.#openNow(slot) : Promise.reject(unneeded());
    // The next load need not wait for a database that does not answer.
    void withTimeout(maxWaitMs, opening, this.#options.schedule).catch(() => {})
      .then(() => this.#turns.end());
    let tenant: LoadedTenant;
    try {
      tenant = await opening;
    } catch (error) {
      this.#places.end();
      throw error;
    }
    if (slot.phase.kind === "loading") this.#loaded(slot, tenant, this.#options.now() - began);
    else this.#close(slot, tenant);
    return tenant;
  }

  async #openNow(slot: TenantSlot): Promise<LoadedTenant> {
    const { open, schedule } = this.#options;
    const { name, aborter } = slot;
    const onFailed = (reason: string) => {
      if (!this.#isCurrent(slot)) return;
      this.#fail(name, reason);
      this.#end(name, "failed");
    };
    const cancel = schedule(() => aborter.abort(), maxLoadMs);
    try {
      const tenant = await open(name, { onFailed, signal: aborter.signal });
      if (tenant === null) throw errors.unknownTenant();
      return tenant;
    } finally {
      cancel();
    }
  }

  #loaded(slot: TenantSlot, tenant: LoadedTenant, ms: number): void {
    const { name } = slot;
    slot.phase = { kind: "loaded", tenant };
    this.#failures.delete(name);
    this.#options.observe({ kind: "tenant-loaded", ms, tenant: name });
    this.#makeRoom();
  }

  /** Closes a tenant for each load that waits for a place: one without requests if there is one. */
  #makeRoom(): void {
    for (let needed = this.#places.waiting - this.#closing.size; needed > 0; needed--) {
      const loaded = [...this.#slots.values()].filter(({ phase }) => phase.kind === "loaded");
      const slot = loaded.find(({ requests }) => requests === 0) ?? loaded[0];
      if (slot === undefined) return;
      this.#end(slot.name, "least recently used");
    }
  }

  /** Resolves with the tenant of a place. Rejects with `316`, and with `317` after a failure or a long wait. */
  async #await({ phase, turn }: TenantSlot): Promise<LoadedTenant> {
    if (phase.kind === "loaded") return phase.tenant;
    if (phase.kind === "closed") throw errors.tenantUnavailable(1);
    let found: LoadedTenant | null = null;
    const loading = phase.loading.then((tenant) => void (found = tenant));
    loading.catch(() => {});
    await turn.promise;
    try {
      await withTimeout(maxWaitMs, loading, this.#options.schedule);
    } catch (error) {
      throw isUnknownTenant(error) ? error : errors.tenantUnavailable(1);
    }
    if (found === null) throw errors.tenantUnavailable(1);
    return found;
  }

  #fail(name: string, reason: string): void {
    const { now, observe } = this.#options;
    const previous = this.#failures.get(name);
    const seconds = previous === undefined ? 1 : nextBackoff(previous.seconds);
    this.#failures.delete(name);
    const [oldest] = this.#failures.keys();
    if (this.#failures.size >= maxFailures) this.#failures.delete(oldest!);
    this.#failures.set(name, { retryAt: now() + seconds * 1000, seconds });
    observe({ kind: "tenant-failed", reason, retrySeconds: seconds, tenant: name });
  }

  /** Takes a tenant out of service. It is closed when its requests have ended. */
  #end(name: string, reason: TenantEnd): void {
    const slot = this.#slots.get(name);
    if (slot === undefined) return;
    this.#slots.delete(name);
    const { phase } = slot;
    slot.phase = { kind: "closed" };
    if (phase.kind !== "loaded") return slot.aborter.abort();
    this.#options.observe({ kind: "tenant-closed", reason, tenant: name });
    this.#close(slot, phase.tenant);
  }

  #close(slot: TenantSlot, tenant: LoadedTenant): void {
    const closing = this.#drain(slot, tenant).finally(() => {
      this.#closing.delete(closing);
      this.#places.end();
    });
    this.#closing.add(closing);
  }

  async #drain(slot: TenantSlot, tenant: LoadedTenant): Promise<void> {
    tenant.endStreams();
    slot.drained = deferred<void>();
    if (slot.requests > 0) await slot.drained.promise;
    await tenant.close();
  }

  #scheduleIdleCheck(): void {
    const { idleMs, schedule } = this.#options;
    this.#stopIdleCheck = schedule(() => {
      this.#closeIdle();
      this.#scheduleIdleCheck();
    }, Math.max(idleMs / 4, minIdleCheckMs));
  }

  #closeIdle(): void {
    const { idleMs, now } = this.#options;
    for (const { name, phase, requests, usedAt } of [...this.#slots.values()]) {
      const isIdle = phase.kind === "loaded" && requests === 0 && now() - usedAt >= idleMs;
      if (isIdle) this.#end(name, "idle");
    }
  }
}

const minIdleCheckMs = 100;

function unneeded(): ServiceError {
  return errors.tenantUnavailable(1);
}

/** Bounds how many run at a time, in the order of their arrival. */
class Turns {
  #free: number;
  readonly #waiting: Deferred<void>[] = [];

  constructor(max: number) {
    this.#free = max;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  async begin(): Promise<void> {
    if (this.#free > 0) return void this.#free--;
    const turn = deferred<void>();
    this.#waiting.push(turn);
    await turn.promise;
  }

  end(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next.resolve();
  }
}

/** Returns whether a request failed because its tenant does not exist. */
export function isUnknownTenant(error: unknown): boolean {
  return error instanceof ServiceError && error.fields.own &&
    error.fields.code === errors.unknownTenant.code;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replaceAll("\n", "; ") : String(error);
}
