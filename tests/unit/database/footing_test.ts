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
  readonly leads: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "enters once",
    asked: [[ann], [ann], [ann]],
    leads: ["enter ann api", "check ann api", "check ann api"],
  },
  {
    name: "enters for another role, and back, from its own",
    asked: [[ann], [bob], [ann]],
    leads: ["enter ann api", "reset role; enter bob api", "reset role; enter ann api"],
  },
  {
    name: "enters for another search path",
    asked: [[ann], [footing("ann", "other")]],
    leads: ["enter ann api", "reset role; enter ann other"],
  },
  {
    name: "has its own role for what may be code, which may have changed the session",
    asked: [[ann], ["any"], ["any"], [ann], [ann]],
    leads: ["enter ann api", "reset role", "", "enter ann api", "check ann api"],
  },
  {
    name: "enters anew after a failure",
    asked: [[ann], "lose", [ann], [ann]],
    leads: ["enter ann api", "reset role; enter ann api", "check ann api"],
  },
  {
    name: "does not know whether it has its own role after a failure",
    asked: [[ann], ["any"], "lose", ["any"], [undefined]],
    leads: ["enter ann api", "reset role", "reset role", "reset role; reset search_path"],
  },
  {
    name: "has nothing to fear of failures while it is on its own",
    asked: [[undefined], "lose", [undefined], ["any"]],
    leads: ["", "", ""],
  },
  {
    name: "is on its own again after a failure that took that back",
    asked: [["any"], [undefined], "lose", [undefined], ["any"], "lose", ["any"], ["any"]],
    leads: [
      "",
      "reset role; reset search_path",
      "reset role; reset search_path",
      "",
      "reset role",
      "",
    ],
  },
  {
    name: "gives what needs the session as it was opened just that after what may be code",
    asked: [[undefined], ["any"], [undefined], [undefined], ["any"], [ann], [undefined]],
    leads: [
      "",
      "",
      "reset role; reset search_path",
      "",
      "",
      "enter ann api",
      "reset role; reset search_path",
    ],
  },
  {
    name: "enters anew after a while",
    asked: [[ann, 10], [ann, 1009], [ann, 1010], [ann, 2009]],
    leads: ["enter ann api", "check ann api", "reset role; enter ann api", "check ann api"],
  },
  {
    name: "borrows for a block",
    asked: [[ann, 0, true], [ann], [bob, 0, true], [ann]],
    leads: ["borrow ann api", "enter ann api", "reset role; borrow bob api", "enter ann api"],
  },
  {
    name: "borrows always where others may use the server's process",
    direct: false,
    asked: [[ann], [ann], [undefined]],
    leads: ["borrow ann api", "borrow ann api", ""],
  },
  {
    name: "gives what needs the session as it was opened just that",
    asked: [[undefined], [ann], [undefined], [ann], ["any"], [undefined]],
    leads: [
      "",
      "enter ann api",
      "reset role; reset search_path",
      "enter ann api",
      "reset role",
      "reset role; reset search_path",
    ],
  },
];

for (const { name, direct = true, asked, leads } of cases) {
  Deno.test(`SessionFooting ${name}`, () => {
    const session = new SessionFooting();
    session.isDirect = direct;
    const said: string[] = [];
    for (const each of asked) {
      if (each === "lose") session.lose();
      else {
        const [wanted, now = 0, isBlock = false] = each;
        const { statements } = session.before(wanted, { isBlock, isHurried: false, now });
        said.push(statements.map(({ text }) => text).join("; "));
      }
    }
    deepStrictEqual(said, leads);
  });
}
