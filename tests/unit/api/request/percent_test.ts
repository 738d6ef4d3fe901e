import { strictEqual } from "node:assert/strict";
import { percentDecode } from "../../../../src/base/http/percent.ts";

Deno.test("percentDecode decodes what is escaped, and keeps what is not", () => {
  const rows: [text: string, replaced: string, rejected: string | null][] = [
    ["", "", ""],
    ["a+b", "a+b", "a+b"],
    ["%41%62", "Ab", "Ab"],
    ["%c3%A9", "é", "é"],
    ["%F0%9F%98%80", "😀", "😀"],
    ["%", "%", "%"],
    ["%4", "%4", "%4"],
    ["%zz%41", "%zzA", "%zzA"],
    ["%%41", "%A", "%A"],
    ["%4g%C3%A9é", "%4géé", "%4géé"],
    ["%25zz", "%zz", "%zz"],
    ["%FF", "\ufffd", null],
    ["a%C3b", "a\ufffdb", null],
    ["%C0%AF", "\ufffd\ufffd", null],
    ["%ED%A0%80", "\ufffd\ufffd\ufffd", null],
    ["%EF%BB%BFa", "\ufeffa", "\ufeffa"],
    ["%EF%BB%BF%zz", "\ufeff%zz", "\ufeff%zz"],
    ["%00", "\0", "\0"],
  ];
  for (const [text, replaced, rejected] of rows) {
    strictEqual(percentDecode(text, "replace"), replaced, text);
    strictEqual(percentDecode(text, "reject"), rejected, text);
  }
});
