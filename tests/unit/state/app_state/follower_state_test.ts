import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import { indexRevocations } from "../../../../src/state/auth/revocations.ts";
import { loadConfig } from "../../../../src/state/config/load.ts";
import { noRoleSettings } from "../../../../src/state/config/in_database.ts";
import type { Config } from "../../../../src/state/config/options.ts";
import { exampleFile } from "../../../../src/state/config/print.ts";
import type { Database } from "../../../../src/database/database.ts";
import { errors } from "../../../../src/base/errors/catalogue.ts";
import { ServiceError } from "../../../../src/base/errors/service_error.ts";
import { atOnce } from "../../../support/timing/at_once.ts";
import { schemaChunks } from "../../../../src/state/schema_cache/schema_chunks.ts";
import type { SchemaCacheData } from "../../../../src/state/schema_cache/schema_cache.ts";
import { fakeClock } from "../../../support/timing/fake_clock.ts";
import { FollowerState } from "../../../../src/state/app_state/follower_state.ts";
import { type FollowedParts, stateChange } from "../../../../src/state/app_state/state_change.ts";
import { wingOptions } from "../../../../src/process/wings.ts";

function configOf(variables: Readonly<Record<string, string>> = {}): Config {
  return loadConfig({
    wingOptions,
    file: null,
    environment: {
      SVC_DB_URI: "postgres:///shop",
      SVC_DB_SCHEMAS: "api",
      SVC_JWT_SECRET: "x".repeat(32),
      ...variables,
    },
    readFile: () => new Uint8Array(),
  });
}

const noSchema: SchemaCacheData = {
  relations: [],
  relationships: [],
  routines: [],
  representations: [],
  mediaHandlers: [],
  volatileFunctions: null,
};

/** Makes a followed state, its publisher, and a service that follows. Changes pass as in a message. */
async function following(variables: Readonly<Record<string, string>> = {}) {
  const parts: { -readonly [Part in keyof FollowedParts]: FollowedParts[Part] } = {
    config: configOf(variables),
    roles: noRoleSettings,
    usesBlocks: false,
    serverVersion: "PostgreSQL 18.1",
    schema: atOnce(schemaChunks(noSchema)),
    revocations: null,
  };
  let sent: FollowedParts = { ...parts };
  const clock = fakeClock();
  const calls: string[] = [];
  const call = (name: string) => void calls.push(name);
  const service = await FollowerState.create({
    threads: 1,
    database: {
      pool: {
        configure: () => call("configure"),
        flush: () => call("flush"),
        ask: () => new Promise(() => {}),
        suspect: () => call("suspect"),
      },
      close: () => Promise.resolve(),
    } as unknown as Database,
    dialect: "svc",
    now: () => 0,
    observe: (event) => call(event.kind),
    followed: {
      isReady: () => Promise.resolve(true),
      recover: () => call("recover"),
      missName: () => call("missName"),
    },
    shareOf: (config) => ({ ...config, wingOptions, dbPool: 3 }),
    onFatal: () => call("fatal"),
    fetch: (url) => {
      call(url);
      return Promise.reject(new Error("no network"));
    },
    clock,
  }, structuredClone(stateChange(null, sent)));
  const publish = async () => {
    const change = stateChange(sent, parts);
    sent = { ...parts };
    await service.apply(structuredClone(change));
    return change;
  };
  calls.length = 0;
  return { parts, service, publish, calls, clock };
}

Deno.test("FollowerState begins with the whole state and its share of the limits", async () => {
  const { service, parts } = await following();
  const { config, cache, roles, serverVersion, cacheError } = service.snapshot;
  deepStrictEqual(config, { ...parts.config, dbPool: 3 });
  deepStrictEqual(cache?.data, noSchema);
  deepStrictEqual([roles, serverVersion, cacheError], [noRoleSettings, "PostgreSQL 18.1", null]);
});

Deno.test("FollowerState suspects its own connections if one does not answer", async () => {
  const { service, calls, clock } = await following();
  await clock.pass(1999);
  deepStrictEqual(calls, []);
  await clock.pass(1);
  deepStrictEqual(calls, ["suspect"]);
  await service.close();
  strictEqual(clock.next(), null);
});

Deno.test("stateChange() has only parts that were replaced", async () => {
  const { publish, parts } = await following();
  deepStrictEqual(await publish(), {});
  parts.roles = { ...noRoleSettings };
  deepStrictEqual(await publish(), { roles: noRoleSettings });
});

Deno.test("FollowerState applies a configuration and a schema of one load at once", async () => {
  const { service, publish, parts, calls } = await following();
  const before = service.snapshot;
  parts.config = configOf({ SVC_DB_MAX_ROWS: "5" });
  parts.schema = atOnce(schemaChunks(noSchema));
  const published = publish();
  strictEqual(service.snapshot, before, "a snapshot is replaced as a whole");
  await published;
  strictEqual(service.snapshot.config.dbMaxRows, 5);
  ok(service.snapshot.cache !== before.cache);
  strictEqual(service.snapshot.auth.cache, before.auth.cache, "the secret is the same");
  deepStrictEqual(calls, ["configure", "flush"]);
});

Deno.test("FollowerState fetches the keys of issuers itself, without a report", async () => {
  const { service, publish, parts, calls } = await following();
  parts.config = configOf({ SVC_JWT_JWKS_URL: "https://id.test/keys" });
  await publish();
  deepStrictEqual(calls, ["configure", "https://id.test/keys"]);
  await service.close();
});

Deno.test("FollowerState applies changes in their order", async () => {
  const { service, publish, parts } = await following();
  parts.config = configOf({ SVC_DB_MAX_ROWS: "1", SVC_JWT_SECRET: "y".repeat(32) });
  const first = publish();
  parts.config = configOf({ SVC_DB_MAX_ROWS: "2" });
  await Promise.all([first, publish()]);
  strictEqual(service.snapshot.config.dbMaxRows, 2);
});

Deno.test("FollowerState passes on what requests notice", async () => {
  const { service, calls } = await following();
  service.handleFailure(errors.connectionLost("gone"));
  strictEqual(service.reloadIfStale(errors.internal("other")), null);
  const missing = new ServiceError({ ...errors.internal("").fields, code: "42P01" });
  for (let request = 0; request < 3; request++) service.reloadIfStale(missing);
  service.setRetry(4);
  strictEqual(service.retryAfter(), 4);
  deepStrictEqual(calls, ["recover", "missName"]);
});

Deno.test("FollowerState ends the process when the database cannot be recovered", async () => {
  const { service, calls } = await following({ SVC_DB_POOL_AUTOMATIC_RECOVERY: "false" });
  service.handleFailure(errors.connectionLost("gone"));
  deepStrictEqual(calls, ["recovery-disabled", "fatal"]);
});

Deno.test("FollowerState refuses tokens until it has a list of revocations, then follows it", async () => {
  const { service, publish, parts } = await following({ SVC_JWT_REVOCATIONS: "private.revoked" });
  throws(
    () => service.revocations.current(),
    (error) => error instanceof ServiceError && error.fields.code === "310",
  );
  const source = { schema: "private", name: "revoked" };
  for (const claim of ["jti", "sub"]) {
    const list = [{ claim, value: "a", issuedBefore: null, until: null }];
    parts.revocations = { source, index: indexRevocations(list) };
    await publish();
    const index = service.revocations.current();
    ok(index instanceof Map);
    deepStrictEqual([...index.keys()], [claim]);
  }
});

Deno.test("stateChange() can send the example of each option", () => {
  const text = exampleFile(wingOptions).replace(/^# (?=[a-z-]+ = )/gm, "");
  const { dialect: _, wingOptions: __, ...config } = loadConfig({
    wingOptions,
    file: { path: "svc.conf", text },
    environment: {},
    readFile: (path) => new TextEncoder().encode(path === "api.operations" ? "" : "x".repeat(32)),
  });
  deepStrictEqual(structuredClone(config), config);
});
