/** The loaded tenants. A tenant is loaded with its first request. It is closed when it is idle,
 * when another tenant needs its place, or when its definition changes. @module */
import { tenantErrors } from "./tenant_errors.ts";
import { ServiceError } from "../../base/errors/service_error.ts";
import type { RequestInfo } from "../../api/handler/handler.ts";
import { withTimeout } from "../../base/lib/time_limits.ts";
import { nextBackoff, type Schedule } from "../../base/lib/timers.ts";
import type { Observation } from "../../base/observe/observation.ts";
import type { TenantEnd } from "../../base/observe/diagnostics.ts";
import type { AppState } from "../../state/app_state/app_state.ts";

/** A tenant that can serve requests. */
export interface LoadedTenant {
  handle(request: Request, info?: RequestInfo): Promise<Response>;
  readonly appState: Pick<
    AppState,
    "close" | "endStreams" | "isReady" | "reloadConfig" | "reloadSchema"
  >;
  /** Number of open connections. */
  connections(): number;
}

export interface OpeningTenant {
  /** Ends the tenant if it fails after it was loaded. */
  readonly onFailed: (reason: string) => void;
  /** Aborted if loading takes too long, or is no longer needed. */
  readonly signal: AbortSignal;
}

export interface RegistryOptions {
  /** Loads a tenant; null if it is unknown. Rejects if it cannot be served. */
  readonly open: (name: string, opening: OpeningTenant) => Promise<LoadedTenant | null>;
  /** Returns the version of a tenant's definition; null if the tenant is unknown. */
  readonly versionOf: (name: string) => string | null;
  /** Maximum number of tenants with connections: loading, loaded or closing. */
  readonly maxLoaded: number;
  readonly observe: (event: Observation) => void;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  readonly schedule: Schedule;
}

/** The state of a tenant for the admin server. */
export interface TenantState {
  readonly name: string;
  readonly state: "loading" | "loaded" | "failed";
  readonly connections: number;
  readonly requests: number;
}

interface TenantSlot {
  readonly name: string;
  /** Version of the definition at the start of loading. */
  readonly version: string;
  readonly loading: Promise<LoadedTenant>;
  /** Aborts the load. */
  readonly aborter: AbortController;
  /** Null until it is loaded. */
  tenant: LoadedTenant | null;
  /** Requests in progress. */
  requests: number;
  usedAt: number;
  /** Called when no request is in progress. */
  onDrained: () => void;
}

/** Maximum milliseconds that a request waits for its tenant. */
const maxWaitMs = 5000;

/** Milliseconds after which loading is aborted, because the database may never respond. */
const maxLoadMs = 60_000;

/** Milliseconds without a request after which a tenant is closed. */
const maxIdleMs = 600_000;

/** Maximum number of tenants whose failures are stored. */
const maxFailures = 10_000;

export class TenantRegistry {
  readonly #options: RegistryOptions;
  /** Slots of tenants, in order of last use. */
  readonly #slots = new Map<string, TenantSlot>();
  readonly #failures = new Map<string, { readonly retryAt: number; readonly seconds: number }>();
  /** Number of tenants that occupy a place, or wait for one. */
  #places = 0;
  /** Loads that wait for a place, in order of arrival. */
  readonly #waiting: (() => void)[] = [];
  /** Tenants that are being closed. */
  readonly #closing = new Set<Promise<void>>();
  #isClosed = false;

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  /** Handles a request of a tenant. Rejects with `316` if it is unknown, with `317` if it cannot be
   * served now. */
  async handle(name: string, request: Request, info?: RequestInfo): Promise<Response> {
    const slot = this.#use(name);
    slot.requests++;
    try {
      const tenant = slot.tenant ?? await this.#await(slot);
      return await tenant.handle(request, info);
    } finally {
      slot.requests--;
      slot.usedAt = this.#options.now();
      if (slot.requests === 0) slot.onDrained();
    }
  }

  /** Returns whether a tenant can serve requests; null if it is unknown. Loads it if necessary. */
  async isReady(name: string): Promise<boolean | null> {
    if (this.#options.versionOf(name) === null) return null;
    try {
      return await (await this.#await(this.#use(name))).appState.isReady();
    } catch {
      return false;
    }
  }

  /** Returns the loaded tenants, the loading tenants, and the tenants that have failed. */
  states(): readonly TenantState[] {
    const loaded = Array.from(this.#slots.values(), ({ name, tenant, requests }): TenantState => ({
      name,
      state: tenant === null ? "loading" : "loaded",
      connections: tenant?.connections() ?? 0,
      requests,
    }));
    const failed = Array.from(this.#failures.keys())
      .filter((name) => !this.#slots.has(name))
      .map((name): TenantState => ({ name, state: "failed", connections: 0, requests: 0 }));
    return [...loaded, ...failed];
  }

  /** Closes idle tenants, and tenants whose definition was removed. Reloads tenants with a changed
   * definition. Aborts loads of outdated definitions. */
  check(): void {
    const { now, versionOf } = this.#options;
    for (const { name, tenant, requests, usedAt, version } of [...this.#slots.values()]) {
      const current = versionOf(name);
      if (current === null) this.#end(name, "removed");
      else if (current !== version) {
        this.#end(name, "changed");
        if (tenant !== null) this.#await(this.#use(name)).catch(() => {});
      } else if (tenant !== null && requests === 0 && now() - usedAt >= maxIdleMs) {
        this.#end(name, "idle");
      }
    }
  }

  /**
   * Reloads the loaded tenants one by one. Waits for each at most 5 s, because its database may hang.
   */
  async reload(what: "reloadSchema" | "reloadConfig"): Promise<void> {
    for (const { tenant } of [...this.#slots.values()]) {
      if (tenant === null) continue;
      await withTimeout(maxWaitMs, tenant.appState[what](), this.#options.schedule);
    }
  }

  endStreams(): void {
    for (const { tenant } of this.#slots.values()) tenant?.appState.endStreams();
  }

  /** Closes all tenants. Resolves when their requests have ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const name of [...this.#slots.keys()]) this.#end(name, "shutdown");
    await Promise.all(this.#closing);
  }

  /** Returns the slot of a tenant. Starts to load it if necessary. Throws `316` if it is unknown, and
   * `317` until the next attempt after a failure. */
  #use(name: string): TenantSlot {
    const slot = this.#slots.get(name) ?? this.#load(name);
    this.#slots.delete(name);
    this.#slots.set(name, slot);
    slot.usedAt = this.#options.now();
    return slot;
  }

  #load(name: string): TenantSlot {
    const { now, versionOf } = this.#options;
    const waitMs = (this.#failures.get(name)?.retryAt ?? 0) - now();
    if (this.#isClosed) throw tenantErrors.tenantUnavailable(1);
    if (waitMs > 0) throw tenantErrors.tenantUnavailable(Math.ceil(waitMs / 1000));
    const version = versionOf(name);
    if (version === null) throw tenantErrors.unknownTenant();
    const loading = Promise.resolve().then(() => this.#open(slot));
    const slot: TenantSlot = {
      name,
      version,
      loading,
      aborter: new AbortController(),
      tenant: null,
      requests: 0,
      usedAt: now(),
      onDrained: () => {},
    };
    loading.catch((error) => {
      if (!this.#isCurrent(slot)) return;
      this.#slots.delete(name);
      if (!isUnknownTenant(error)) this.#fail(name, reasonOf(error));
    });
    return slot;
  }

  #isCurrent(slot: TenantSlot): boolean {
    return this.#slots.get(slot.name) === slot;
  }

  /** Opens a tenant when a place for its connections is available. */
  async #open(slot: TenantSlot): Promise<LoadedTenant> {
    const { now, observe } = this.#options;
    this.#places++;
    if (this.#places > this.#options.maxLoaded) {
      const place = new Promise<void>((resolve) => this.#waiting.push(resolve));
      this.#makeRoom();
      await place;
    }
    const began = now();
    let tenant: LoadedTenant;
    try {
      tenant = await this.#openNow(slot);
    } catch (error) {
      this.#leave();
      throw error;
    }
    slot.tenant = tenant;
    if (!this.#isCurrent(slot)) {
      this.#close(slot, tenant);
      throw tenantErrors.tenantUnavailable(1);
    }
    this.#failures.delete(slot.name);
    observe({ kind: "tenant-loaded", ms: now() - began, tenant: slot.name });
    this.#makeRoom();
    return tenant;
  }

  async #openNow(slot: TenantSlot): Promise<LoadedTenant> {
    const { open, schedule } = this.#options;
    const { name, aborter } = slot;
    if (!this.#isCurrent(slot)) throw tenantErrors.tenantUnavailable(1);
    const onFailed = (reason: string) => {
      if (!this.#isCurrent(slot)) return;
      this.#fail(name, reason);
      this.#end(name, "failed");
    };
    const cancel = schedule(() => aborter.abort(), maxLoadMs);
    try {
      const tenant = await open(name, { onFailed, signal: aborter.signal });
      if (tenant === null) throw tenantErrors.unknownTenant();
      return tenant;
    } finally {
      cancel();
    }
  }

  /** Gives a place that has become free to the load that has waited longest. */
  #leave(): void {
    this.#places--;
    this.#waiting.shift()?.();
  }

  /** For each load that waits for a place, closes a tenant, preferably a tenant without requests. */
  #makeRoom(): void {
    for (let needed = this.#waiting.length - this.#closing.size; needed > 0; needed--) {
      const loaded = [...this.#slots.values()].filter(({ tenant }) => tenant !== null);
      const slot = loaded.find(({ requests }) => requests === 0) ?? loaded[0];
      if (slot === undefined) return;
      this.#end(slot.name, "least recently used");
    }
  }

  /** Resolves with a tenant. Rejects with `316` if it is unknown, with `317` if it fails or after
   * `maxWaitMs`. */
  async #await(slot: TenantSlot): Promise<LoadedTenant> {
    try {
      await withTimeout(maxWaitMs, slot.loading, this.#options.schedule);
    } catch (error) {
      throw isUnknownTenant(error) ? error : tenantErrors.tenantUnavailable(1);
    }
    if (slot.tenant === null) throw tenantErrors.tenantUnavailable(1);
    return slot.tenant;
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

  /** Removes a tenant. It is closed after its requests. */
  #end(name: string, reason: TenantEnd): void {
    const slot = this.#slots.get(name)!;
    this.#slots.delete(name);
    if (slot.tenant === null) return slot.aborter.abort();
    this.#options.observe({ kind: "tenant-closed", reason, tenant: name });
    this.#close(slot, slot.tenant);
  }

  #close(slot: TenantSlot, { appState }: LoadedTenant): void {
    appState.endStreams();
    const drained = new Promise<void>((resolve) => slot.onDrained = resolve);
    if (slot.requests === 0) slot.onDrained();
    const closing = drained.then(() => appState.close()).finally(() => {
      this.#closing.delete(closing);
      this.#leave();
    });
    this.#closing.add(closing);
  }
}

/** Returns whether a request failed because its tenant does not exist. */
export function isUnknownTenant(error: unknown): boolean {
  return error instanceof ServiceError && error.fields.own &&
    error.fields.code === tenantErrors.unknownTenant.code;
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message.replaceAll("\n", "; ") : String(error);
}
