import { deepStrictEqual, throws } from "node:assert/strict";
import { callerOf } from "../../../../src/wings/audit/commands/caller_flags.ts";

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
];

const invalid: readonly (readonly [flags: Record<string, string>, message: string])[] = [
  [{ "--claims": "{}" }, "--claims needs --role=ROLE"],
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
