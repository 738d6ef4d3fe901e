import { deepStrictEqual } from "node:assert/strict";
import type { Statement } from "../../../src/database/database.ts";
import { type Footing, SessionFooting } from "../../../src/database/footing.ts";

function footing(role: string, searchPath = "api"): Footing {
  const first = (mode: string): Statement => ({
    text: `${mode} ${role} ${searchPath}`,
    params: [],
    use: "none",
  });
  return { role, searchPath, inAnswer: false, first };
}

const [ann, bob] = [footing("ann"), footing("bob")];

/** What is asked of a session, one after the other, and what each batch begins with. */
interface Case {
  readonly name: string;
  readonly direct?: boolean;
  readonly asked: readonly (
    | "lose"
    | readonly [wanted: Footing | "any" | undefined, at?: number, isBlock?: boolean]
  )[];
  readonly firsts: readonly (string | null)[];
}

const asOpened = "select pg_catalog.set_config('role', 'none', true), " +
  "pg_catalog.set_config('search_path', reset_val, true) " +
  "from pg_catalog.pg_settings where name = 'search_path'";

const cases: readonly Case[] = [
  {
    name: "enters once",
    asked: [[ann], [ann], [ann]],
    firsts: ["enter ann api", "check ann api", "check ann api"],
  },
  {
    name: "enters for another role, and back",
    asked: [[ann], [bob], [ann]],
    firsts: ["enter ann api", "enter bob api", "enter ann api"],
  },
  {
    name: "enters for another search path",
    asked: [[ann], [footing("ann", "other")]],
    firsts: ["enter ann api", "enter ann other"],
  },
  {
    name: "enters anew after what may have changed the session",
    asked: [[ann], ["any"], [ann], [ann]],
    firsts: ["enter ann api", null, "enter ann api", "check ann api"],
  },
  {
    name: "enters anew after a failure",
    asked: [[ann], "lose", [ann], [ann]],
    firsts: ["enter ann api", "enter ann api", "check ann api"],
  },
  {
    name: "enters anew after a while",
    asked: [[ann, 10], [ann, 1009], [ann, 1010], [ann, 2009]],
    firsts: ["enter ann api", "check ann api", "enter ann api", "check ann api"],
  },
  {
    name: "borrows for a block, which leaves the session as it was",
    asked: [[ann, 0, true], [ann], [bob, 0, true], [ann]],
    firsts: ["borrow ann api", "enter ann api", "borrow bob api", "check ann api"],
  },
  {
    name: "borrows always where others may use the server's process",
    direct: false,
    asked: [[ann], [ann], [undefined]],
    firsts: ["borrow ann api", "borrow ann api", null],
  },
  {
    name: "gives what needs the session as it was opened just that",
    asked: [[undefined], [ann], [undefined], [ann]],
    firsts: [null, "enter ann api", asOpened, "enter ann api"],
  },
];

for (const { name, direct = true, asked, firsts } of cases) {
  Deno.test(`SessionFooting ${name}`, () => {
    const session = new SessionFooting();
    session.isDirect = direct;
    const said: (string | null)[] = [];
    for (const each of asked) {
      if (each === "lose") session.lose();
      else {
        const [wanted, now = 0, isBlock = false] = each;
        said.push(session.before(wanted, isBlock, now)?.text ?? null);
      }
    }
    deepStrictEqual(said, firsts);
  });
}
