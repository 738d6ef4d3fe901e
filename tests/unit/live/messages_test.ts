import { strictEqual } from "node:assert/strict";
import { encodeEvents } from "../../../src/live/messages.ts";

Deno.test("encodeEvents() keeps a message with carriage returns in one line", () => {
  const events = new TextDecoder().decode(encodeEvents(['{"value":{"a":\r1}}'], "7"));
  strictEqual(events, 'id: 7_0\ndata: {"value":{"a": 1}}\n\n');
});
