/** Literals of settings on PostgreSQL: it reads back what they were made of, whatever the connection sets. */
import { rejects, strictEqual } from "node:assert/strict";
import { compile, settingLiteral } from "../../src/base/sql/fragment.ts";
import { type PostgresClient, withClient } from "../support/database/postgres_client.ts";
import { prepared, serverVariable } from "../support/runner/environment.ts";

const highest = 0x10ffff;
const perText = 0x8000;

/** All characters that PostgreSQL stores, in texts of consecutive ones. */
function* characters(): Generator<string> {
  for (let start = 1; start <= highest; start += perText) {
    let text = "";
    for (let code = start; code < start + perText && code <= highest; code++) {
      if (code < 0xd800 || code > 0xdfff) text += String.fromCodePoint(code);
    }
    yield text;
  }
}

/** Each pair of ASCII characters, and each one behind the bytes that begin characters in other encodings. */
function* pairs(): Generator<string> {
  for (let first = 1; first < 0x180; first++) {
    let text = "";
    for (let second = 1; second < 0x80; second++) text += String.fromCodePoint(first, second);
    yield text;
  }
}

async function check(client: PostgresClient, text: string): Promise<void> {
  const { text: literal } = compile(settingLiteral(text));
  await client.query(`set local "svc"."literal" = ${literal}`);
  const { rows } = await client.query(
    "select md5(convert_to(current_setting('svc.literal'), 'UTF8')) as hash, md5(convert_to($1, 'UTF8')) as sent",
    [text],
  );
  strictEqual(rows[0]!["hash"], rows[0]!["sent"]);
}

for (const conforming of ["on", "off"]) {
  Deno.test(`settingLiteral() is what PostgreSQL reads with standard_conforming_strings = ${conforming}`, async () => {
    await withClient(prepared(serverVariable), async (client) => {
      await client.query(`set standard_conforming_strings = ${conforming}`);
      for (const quote of ["on", "off", "safe_encoding"]) {
        await client.query(`begin; set local backslash_quote = ${quote}`);
        for (const text of pairs()) await check(client, text);
        if (quote === "on") { for (const text of characters()) await check(client, text); }
        await client.query("rollback");
      }
    });
  });
}

const encodings = ["SJIS", "BIG5", "GBK", "GB18030", "UHC", "JOHAB", "SHIFT_JIS_2004", "LATIN1"];

for (const encoding of encodings) {
  Deno.test(`settingLiteral() ends at its quote with client_encoding = ${encoding}`, async () => {
    await withClient(prepared(serverVariable), async (client) => {
      await client.query("begin");
      for (const text of ["\u0083\\', ", "ソ\\'; drop table x --", "é'\\", "\u{10ffff}'"]) {
        const { text: literal } = compile(settingLiteral(text));
        await client.query(
          `set local client_encoding = '${encoding}'; set local "svc"."literal" = ${literal}; set local client_encoding = 'UTF8'`,
        );
        const { rows } = await client.query("select current_setting('svc.literal') as text");
        strictEqual(rows[0]!["text"], text);
      }
      await client.query("rollback");
    });
  });
}

Deno.test("settingLiteral() of NUL is refused", async () => {
  await withClient(prepared(serverVariable), async (client) => {
    const { text } = compile(settingLiteral("a\0b"));
    await rejects(client.query(`set "svc"."literal" = ${text}`), /invalid Unicode escape/);
  });
});
