import { match, notStrictEqual, strictEqual } from "node:assert/strict";
import { randomText, scramVerifier } from "../../../../src/cli/init/scram.ts";

Deno.test("scramVerifier() returns the verifier of RFC 7677, section 3", async () => {
  const salt = Uint8Array.from(atob("W22ZaJ0SNY7soEsUEjb6gQ=="), (text) => text.charCodeAt(0));
  strictEqual(
    await scramVerifier("pencil", salt),
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$" +
      "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=",
  );
});

Deno.test("scramVerifier() takes another salt each time", async () => {
  notStrictEqual(await scramVerifier("pencil"), await scramVerifier("pencil"));
});

Deno.test("randomText() returns characters that need no escape", () => {
  for (let count = 0; count < 50; count++) match(randomText(24), /^[A-Za-z0-9_-]{32}$/);
});
