/** Requests of the chaos run whose functions leave settings behind on their connection. @module */
import {
  type ChaosRequest,
  encode,
  equals,
  type Expected,
  forbidden,
  type RequestContext,
  seenBy,
  stampOf,
} from "./request.ts";

type MakeRequest = (context: RequestContext) => ChaosRequest;

/** Settings and their values; `{stamp}` is that of the request. */
const leftSettings = [
  ["role", "writer"],
  ["role", "none"],
  ["search_path", "nowhere"],
  ["search_path", "private, pg_catalog"],
  ["response.headers", '[{"X-Left": "{stamp}"}]'],
  ["response.status", "202"],
  ["request.jwt.claims", '{"sub":"s0","role":"writer"}'],
  ["request.headers", '{"x-mark":"left"}'],
  ["request.method", "left"],
  ["default_transaction_isolation", "serializable"],
  ["default_transaction_read_only", "on"],
  ["timezone", "Asia/Tokyo"],
] as const;

function settingOf(context: RequestContext) {
  const [name, value] = context.random.pick(leftSettings);
  return { name, value: value.replace("{stamp}", stampOf(context)) };
}

/** `response.status` is that of the request's own answer, too. */
function answerTo(name: string, body: Expected["body"]): Expected {
  const status = name === "response.status" ? 202 : 200;
  return { status, body, mayShowLeft: name === "response.headers" };
}

const leaveByWrite: MakeRequest = (context) => {
  const { name, value } = settingOf(context);
  const path = "/rpc/record_and_leave";
  return {
    name: `write that leaves ${name}`,
    ...encode(context, `POST ${path}`, { body: { mark: context.mark, name, value } }),
    expected: context.user.token === null ? forbidden(context) : {
      ...answerTo(name, equals(seenBy(context, { method: "POST", path, access: "read write" }))),
      inserts: "entries",
    },
    changes: [
      context.effects.expect({ ...context, stamp: stampOf(context), operations: ["INSERT"] }),
    ],
  };
};

const leaveByRead: MakeRequest = (context) => {
  const { name, value } = settingOf(context);
  const path = "/rpc/leave";
  const seen = seenBy(context, { method: "GET", path, access: "read only" });
  return {
    name: `read that leaves ${name}`,
    ...encode(context, `GET ${path}?name=${name}&value=${encodeURIComponent(value)}`),
    expected: answerTo(name, equals(seen)),
  };
};

/** What can be run in a function, and discards what the service may rely on. */
const discardingCommands = [
  "deallocate all",
  "discard plans",
  "discard temp",
  "discard sequences",
  "reset all",
  "close all",
  "unlisten *",
  "set session characteristics as transaction isolation level serializable",
  "set session characteristics as transaction read only",
] as const;

const discard: MakeRequest = (context) => {
  const command = context.random.pick(discardingCommands);
  const path = "/rpc/discard";
  const seen = seenBy(context, { method: "POST", path, access: "read write" });
  return {
    name: command,
    ...encode(context, `POST ${path}`, { body: { command } }),
    expected: {
      status: 200,
      body: equals(seen),
      ...(command === "deallocate all" ? { or: { status: 400, code: "26000" } } : {}),
    },
  };
};

/** Requests that leave something behind, as often as they are listed. */
export const leavingWrites: readonly MakeRequest[] = [leaveByWrite, leaveByWrite, discard];
export const leavingReads: readonly MakeRequest[] = [leaveByRead];
export const leaving: readonly MakeRequest[] = [...leavingWrites, ...leavingReads];
