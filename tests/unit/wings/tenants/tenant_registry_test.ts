import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { deferred } from "../../../../src/base/lib/deferred.ts";
import type { Observation } from "../../../../src/base/observe/observation.ts";
import {
  type LoadedTenant,
  type OpeningTenant,
  TenantRegistry,
} from "../../../../src/wings/tenants/tenant_registry.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";

/** A registry over tenants that tests control. */
class Setup {
  readonly clock = fakeClock();
  readonly log: string[] = [];
  readonly events: Observation[] = [];
  readonly versions = new Map([["a", "1"], ["b", "1"], ["c", "1"]]);
  readonly failing = new Set<string>();
  readonly hanging = new Set<string>();
  /** Resolve to let a tenant load or answer. */
  loading = Promise.resolve();
  answering = Promise.resolve();
  /** Tenants that have connections now, and most of them at a time. */
  open = 0;
  most = 0;
  fail: (reason: string) => void = () => {};
  readonly registry: TenantRegistry;

  constructor({ maxLoaded = 2 } = {}) {
    this.registry = new TenantRegistry({
      open: (name, opening) => this.#open(name, opening),
      versionOf: (name) => this.versions.get(name) ?? null,
      maxLoaded,
      observe: (event) => void this.events.push(event),
      now: () => this.clock.now(),
      schedule: this.clock.schedule,
    });
  }

  async #open(name: string, { onFailed, signal }: OpeningTenant): Promise<LoadedTenant | null> {
    const version = this.versions.get(name);
    if (version === undefined) return null;
    this.log.push(`open ${name}`);
    this.fail = onFailed;
    this.most = Math.max(this.most, ++this.open);
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("aborted")));
    });
    try {
      await Promise.race([this.loading, aborted]);
      if (this.failing.has(name)) throw new Error("no database");
      return this.#tenant(name, version);
    } catch (error) {
      this.open--;
      throw error;
    }
  }

  #tenant(name: string, version: string): LoadedTenant {
    const appState = {
      isReady: () => Promise.resolve(true),
      reloadSchema: async () => {
        this.log.push(`reload ${name}`);
        if (this.hanging.has(name)) await new Promise(() => {});
      },
      reloadConfig: () => Promise.resolve(),
      endStreams: () => {},
      close: () => {
        this.open--;
        return Promise.resolve(void this.log.push(`close ${name}`));
      },
    };
    const handle = async () => {
      await this.answering;
      return new Response(`${name} ${version}`);
    };
    return { handle, appState, connections: () => 1 };
  }

  async get(name: string): Promise<string> {
    return await (await this.registry.handle(name, new Request("http://h/"))).text();
  }
}

const code = (expected: string) => ({ fields }: { readonly fields: { readonly code: string } }) =>
  fields.code === expected;

Deno.test("TenantRegistry loads a tenant once for requests that arrive together", async () => {
  const setup = new Setup();
  const gate = deferred<void>();
  setup.loading = gate.promise;
  const answers = [setup.get("a"), setup.get("a"), setup.get("a")];
  gate.resolve();
  deepStrictEqual(await Promise.all(answers), ["a 1", "a 1", "a 1"]);
  deepStrictEqual(setup.log, ["open a"]);
});

Deno.test("TenantRegistry closes the least recently used tenant, which loads again", async () => {
  const setup = new Setup({ maxLoaded: 2 });
  for (const name of ["a", "b", "a", "c", "b"]) await setup.get(name);
  deepStrictEqual(setup.log, ["open a", "open b", "close b", "open c", "close a", "open b"]);
});

Deno.test("TenantRegistry rejects an unknown tenant, and closes no other for it", async () => {
  const setup = new Setup({ maxLoaded: 1 });
  await setup.get("a");
  await rejects(setup.get("nobody"), code("316"));
  deepStrictEqual(setup.log, ["open a"]);
  deepStrictEqual(setup.registry.states().map(({ name }) => name), ["a"]);
});

Deno.test("TenantRegistry waits longer after each failure, and loads a tenant that works again", async () => {
  const setup = new Setup();
  setup.failing.add("a");
  await rejects(setup.get("a"), code("317"));
  await rejects(setup.get("a"), code("317"));
  strictEqual(setup.log.length, 1);
  await setup.clock.pass(1000);
  await rejects(setup.get("a"), code("317"));
  await setup.clock.pass(1000);
  await rejects(setup.get("a"), code("317"));
  strictEqual(setup.log.length, 2);
  setup.failing.clear();
  await setup.clock.pass(1000);
  strictEqual(await setup.get("a"), "a 1");
  const seconds = setup.events.map((event) =>
    event.kind === "tenant-failed" ? event.retrySeconds : event.kind
  );
  deepStrictEqual(seconds, [1, 2, "tenant-loaded"]);
});

Deno.test("TenantRegistry answers 503 after 5 seconds, while the load continues", async () => {
  const setup = new Setup();
  const gate = deferred<void>();
  setup.loading = gate.promise;
  const waiting = rejects(setup.get("a"), code("317"));
  await setup.clock.pass(0);
  await setup.clock.pass(5000);
  await waiting;
  const second = setup.get("a");
  gate.resolve();
  strictEqual(await second, "a 1");
  deepStrictEqual(setup.log, ["open a"]);
});

Deno.test("TenantRegistry closes a tenant after its requests", async () => {
  const setup = new Setup({ maxLoaded: 1 });
  await setup.get("a");
  const gate = deferred<void>();
  setup.answering = gate.promise;
  const slow = setup.get("a");
  setup.answering = Promise.resolve();
  const other = setup.get("b");
  await setup.clock.pass(0);
  deepStrictEqual(setup.log, ["open a"]);
  gate.resolve();
  strictEqual(await slow, "a 1");
  strictEqual(await other, "b 1");
  await setup.registry.close();
  deepStrictEqual(setup.log, ["open a", "close a", "open b", "close b"]);
});

Deno.test("TenantRegistry closes an idle tenant, but none with a request in progress", async () => {
  const setup = new Setup();
  await setup.get("a");
  const gate = deferred<void>();
  setup.answering = gate.promise;
  const slow = setup.get("b");
  await setup.clock.pass(0);
  await setup.clock.pass(599_999);
  setup.registry.check();
  deepStrictEqual(setup.log, ["open a", "open b"]);
  await setup.clock.pass(1);
  setup.registry.check();
  gate.resolve();
  await slow;
  deepStrictEqual(setup.log, ["open a", "open b", "close a"]);
  await setup.registry.close();
});

Deno.test("TenantRegistry.check() loads a changed tenant anew and closes a removed one", async () => {
  const setup = new Setup();
  await setup.get("a");
  await setup.get("b");
  setup.versions.set("a", "2");
  setup.versions.delete("b");
  setup.registry.check();
  strictEqual(await setup.get("a"), "a 2");
  await rejects(setup.get("b"), code("316"));
  const ends = setup.events.flatMap((event) =>
    event.kind === "tenant-closed" ? [event.reason] : []
  );
  deepStrictEqual(ends, ["changed", "removed"]);
});

Deno.test("TenantRegistry ends a tenant that fails after it was loaded", async () => {
  const setup = new Setup();
  await setup.get("a");
  setup.fail("its appState has ended");
  await rejects(setup.get("a"), code("317"));
  deepStrictEqual(setup.registry.states().map(({ state }) => state), ["failed"]);
  await setup.clock.pass(1000);
  strictEqual(await setup.get("a"), "a 1");
});

Deno.test("TenantRegistry.check() cancels a load whose definition was changed or removed", async () => {
  const setup = new Setup({ maxLoaded: 3 });
  const gate = deferred<void>();
  setup.loading = gate.promise;
  const old = [setup.get("a"), setup.get("b")];
  await setup.clock.pass(0);
  setup.versions.set("a", "2");
  setup.versions.delete("b");
  setup.registry.check();
  setup.loading = Promise.resolve();
  strictEqual(await setup.get("a"), "a 2");
  await rejects(setup.get("b"), code("316"));
  await rejects(old[0]!, code("317"));
  await rejects(old[1]!, code("317"));
  gate.resolve();
  await setup.clock.pass(0);
  deepStrictEqual(setup.registry.states().map(({ name, state }) => [name, state]), [[
    "a",
    "loaded",
  ]]);
  deepStrictEqual(setup.log, ["open a", "open b", "open a"]);
});

/** Adds tenants, and returns their names. */
function herd({ versions }: Setup, count: number): readonly string[] {
  const names = Array.from({ length: count }, (_, number) => `t${number}`);
  for (const name of names) versions.set(name, "1");
  return names;
}

Deno.test("TenantRegistry has no more tenants at a time than places, whatever they do", async () => {
  const setup = new Setup({ maxLoaded: 5 });
  const names = herd(setup, 30);
  const gate = deferred<void>();
  setup.answering = gate.promise;
  const answers = [...names, ...names].map((name) => setup.get(name));
  await setup.clock.pass(0);
  strictEqual(setup.most, 5);
  gate.resolve();
  await Promise.all(answers);
  strictEqual(setup.most, 5);
  await setup.registry.close();
  strictEqual(setup.open, 0);
});

Deno.test("TenantRegistry aborts a load after a minute, which frees its place", async () => {
  const setup = new Setup({ maxLoaded: 1 });
  setup.loading = new Promise(() => {});
  const hung = rejects(setup.get("a"), code("317"));
  await setup.clock.pass(0);
  await setup.clock.pass(5000);
  await hung;
  setup.loading = Promise.resolve();
  await setup.clock.pass(54_000);
  const other = setup.get("b");
  await setup.clock.pass(999);
  strictEqual(setup.log.length, 1);
  await setup.clock.pass(1);
  strictEqual(await other, "b 1");
});

Deno.test("TenantRegistry opens no tenant that waits for its load when it closes", async () => {
  const setup = new Setup({ maxLoaded: 1 });
  const gate = deferred<void>();
  setup.loading = gate.promise;
  const first = setup.get("a");
  const second = rejects(setup.get("b"), code("317"));
  await setup.clock.pass(0);
  await setup.registry.close();
  gate.resolve();
  await rejects(first, code("317"));
  await second;
  deepStrictEqual(setup.log, ["open a"]);
});

Deno.test("TenantRegistry.close() reports the shutdown as the reason", async () => {
  const setup = new Setup();
  await setup.get("a");
  await setup.registry.close();
  const end = setup.events.find((event) => event.kind === "tenant-closed");
  strictEqual(end?.reason, "shutdown");
});

Deno.test("TenantRegistry.reload() reaches the tenants behind one whose database hangs", async () => {
  const setup = new Setup();
  for (const name of ["a", "b"]) await setup.get(name);
  setup.hanging.add("a");
  const reloading = setup.registry.reload("reloadSchema");
  await setup.clock.pass(5000);
  await reloading;
  deepStrictEqual(setup.log, ["open a", "open b", "reload a", "reload b"]);
});
