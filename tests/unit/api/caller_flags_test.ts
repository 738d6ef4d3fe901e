import { deepStrictEqual, throws } from "node:assert/strict";
import { callerOf } from "../../../src/api/caller_flags.ts";

const valid: readonly (readonly [flags: Record<string, string>, caller: object | null])[] = [
  [{}, null],
  [{ "--role": "web_user" }, {
    role: "web_user",
    authenticated: true,
    claims: '{"role":"web_user"}',
  }],
  [{ "--role": "web_anon" }, {
    role: "web_anon",
    authenticated: false,
    claims: '{"role":"web_anon"}',
  }],
  [{ "--role": "web_user", "--claims": '{"sub":"2","role":"other"}' }, {
    role: "web_user",
    authenticated: true,
    claims: '{"sub":"2","role":"web_user"}',
  }],
  [{ "--role": "web_user", "--claims": '{"n":12345678901234567890}' }, {
    role: "web_user",
    authenticated: true,
    claims: '{"n":12345678901234567890,"role":"web_user"}',
  }],
  [{ "--role": "web_user", "--claims": '{"sub":"2","a":1}', "--claim": "sub=ada\0team=3" }, {
    role: "web_user",
    authenticated: true,
    claims: '{"sub":"ada","a":1,"team":3,"role":"web_user"}',
  }],
];

const invalid: readonly (readonly [flags: Record<string, string>, message: string])[] = [
  [{ "--claims": "{}" }, "--claims needs --role=ROLE"],
  [{ "--claim": "sub=1" }, "--claim needs --role=ROLE"],
  [{ "--role": "a", "--claim": "sub" }, "--claim needs a name and a value: --claim=NAME=VALUE"],
  [{ "--role": "a", "--claim": "b=c", "--claims": "[1]" }, "expected claims as a JSON object"],
  [{ "--role": "" }, 'cannot become the role ""'],
  [{ "--role": "none" }, 'cannot become the role "none"'],
  [{ "--role": "a", "--claims": "[1]" }, "expected claims as a JSON object"],
  [{ "--role": "a", "--claims": "{" }, "expected claims as a JSON object"],
  [{ "--role": "a", "--claims": "null" }, "expected claims as a JSON object"],
];

const config = { dbAnonRole: "web_anon" };
const mapOf = (flags: Record<string, string>) => new Map(Object.entries(flags));

for (const [flags, caller] of valid) {
  Deno.test(`callerOf() returns the caller of ${JSON.stringify(flags)}`, () => {
    deepStrictEqual<unknown>(callerOf(mapOf(flags), config), caller);
  });
}

for (const [flags, message] of invalid) {
  Deno.test(`callerOf() rejects ${JSON.stringify(flags)}`, () => {
    throws(() => callerOf(mapOf(flags), config), { message });
  });
}
