import { ok, rejects, strictEqual } from "node:assert/strict";
import type { KeyDocuments } from "../../../src/auth/key_loader.ts";
import { FollowedKeySets, type KeyRefusal } from "../../../src/auth/followed_key_sets.ts";
import { keySetId } from "../../../src/auth/remote_key_set.ts";
import { ServiceError } from "../../../src/errors/service_error.ts";
import { type IssuerKey, issuerKey } from "../../support/handler/key_sets.ts";

const names = {
  location: { kind: "url", url: "https://id.test/keys" },
  issuer: "https://id.test",
} as const;

function documentsOf(keys: readonly IssuerKey[], fetchedAt: number): Map<string, KeyDocuments> {
  const text = JSON.stringify({ keys: keys.map(({ publicJwk }) => publicJwk) });
  const { url } = names.location;
  const document = { url, text, etag: null, fetchedAt, maxAgeMs: 1000 };
  return new Map([[keySetId(names), { discovery: null, document }]]);
}

/** Makes a follower whose queries `answer` answers. */
function follower() {
  const state = { time: 0, queries: 0, answer: (): Promise<KeyRefusal> => Promise.resolve(null) };
  const sets = new FollowedKeySets({
    requestKeys: (_, kid) => {
      state.queries++;
      ok(kid === null || kid.length > 0);
      return state.answer();
    },
    now: () => state.time,
  });
  return { state, sets, set: sets.get(names) };
}

const noScope = { waitUntil: null };

Deno.test("FollowedKeySets sends one query for keys that were never received", async () => {
  const { state, sets, set } = follower();
  const key = await issuerKey("one");
  state.answer = async () => {
    await sets.take(documentsOf([key], 0));
    return null;
  };
  const [first, second] = await Promise.all([set.current(noScope), set.current(noScope)]);
  strictEqual(first, second);
  strictEqual(state.queries, 1);
  ok(!(set.current(noScope) instanceof Promise));
});

Deno.test("FollowedKeySets keeps the set of a document that was fetched again unchanged", async () => {
  const { state, sets, set } = follower();
  const key = await issuerKey("one");
  await sets.take(documentsOf([key], 0));
  const before = await set.current(noScope);
  state.time = 500;
  await sets.take(documentsOf([key], 500));
  strictEqual(await set.current(noScope), before);
});

Deno.test("FollowedKeySets sends a query for an unknown kid at most once a second", async () => {
  const { state, sets, set } = follower();
  const [one, other] = [await issuerKey("one"), await issuerKey("other")];
  await sets.take(documentsOf([one], 0));
  await set.setWithKey("one", noScope);
  strictEqual(state.queries, 0);
  await set.setWithKey("other", noScope);
  await set.setWithKey("third", noScope);
  strictEqual(state.queries, 1);
  await sets.take(documentsOf([one, other], 0));
  strictEqual((await set.setWithKey("other", noScope)).keys.length, 2);
  strictEqual(state.queries, 1);
});

Deno.test("FollowedKeySets serves old keys while the fetching thread does", async () => {
  const { state, sets, set } = follower();
  await sets.take(documentsOf([await issuerKey("one")], 0));
  state.time = 2000;
  strictEqual((await set.current(noScope)).keys.length, 1);
  state.answer = () => Promise.resolve({ retryAfter: 5 });
  await rejects(Promise.resolve(set.current(noScope)), (error) => {
    ok(error instanceof ServiceError);
    strictEqual(error.fields.headers?.[0]?.[1], "5");
    return true;
  });
});
