/** Which requests a standby executes, and which get a bookmark. @module */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { place, portOf } from "../../support/database/replica_stage.ts";
import type { RequestParts } from "../../support/handler/request.ts";
import { nextId, noteLine, type Step } from "./step.ts";

const form = { "Content-Type": "application/x-www-form-urlencoded" };

/** Requests, and which server executes them. */
const routes: readonly (readonly [string, "standby" | "primary", RequestParts?])[] = [
  ["GET /place", "standby"],
  ["QUERY /place", "standby", { headers: form, body: "select=port" }],
  ["GET /rpc/stable_port", "standby"],
  ["POST /rpc/stable_port", "standby", { body: {} }],
  ["GET /rpc/volatile_port", "primary"],
  ["POST /rpc/volatile_port", "primary", { body: {} }],
  ["PATCH /notes?id=eq.1&select=port", "primary", {
    headers: { Prefer: "return=representation" },
    body: { text: "patched" },
  }],
  ["GET /place?port=gt.0", "primary", { headers: { Prefer: "read=primary" } }],
  ["GET /place?port=gt.1", "primary", { headers: { Prefer: "tx=rollback" } }],
  ["GET /tagged", "primary"],
];

export const routing: readonly Step[] = [
  ...routes.map(([line, server, parts]): Step => [
    `${line} uses the ${server}`,
    async ({ stage, api }) => {
      const response = await api(line, parts);
      strictEqual(stage.isStandby(await portOf(response)), server === "standby");
    },
  ]),
  ["read=primary is an applied preference", async ({ api }) => {
    const response = await api(place, { headers: { Prefer: "read=primary" } });
    strictEqual(response.headers.get("Preference-Applied"), "read=primary");
  }],
  ["HEAD uses a standby", async ({ api }) => {
    const response = await api("HEAD /on_standby", { headers: { Prefer: "count=exact" } });
    strictEqual(response.headers.get("Content-Range"), "0-0/1");
  }],
  ["reads without a bookmark get none", async ({ api }) => {
    strictEqual((await api(place)).headers.has("Svc-Bookmark"), false);
  }],
  ["writes that roll back get no bookmark", async ({ api }) => {
    const failed = await api("POST /notes", { body: { id: 1 } });
    strictEqual(failed.status, 409);
    const rolledBack = await api("POST /notes", {
      body: { id: 0 },
      headers: { Prefer: "tx=rollback" },
    });
    strictEqual(rolledBack.status, 201);
    strictEqual(failed.headers.has("Svc-Bookmark"), false);
    strictEqual(rolledBack.headers.has("Svc-Bookmark"), false);
  }],
  ["a handler without replicas ignores and sends no bookmarks", async ({ stage }) => {
    const { api } = stage.openWithout();
    const id = nextId();
    const written = await api("POST /notes", { body: { id } });
    const response = await api(noteLine(id), { bookmark: "1-0000000000000000" });
    const marked = [written, response].map(({ headers }) => headers.has("Svc-Bookmark"));
    deepStrictEqual(marked, [false, false]);
    deepStrictEqual(await response.json(), [{ id, port: stage.cluster.primary.port }]);
  }],
];
