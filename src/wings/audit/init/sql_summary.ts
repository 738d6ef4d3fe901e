/** Summarizes the SQL file of `svc init` above the question whether to apply it. @module */
import { counted } from "../../../base/lib/printable.ts";
import { triggerMark } from "./init_sql.ts";

/** A name as SQL writes it, with or without quotes. */
const name = String.raw`(?:"(?:[^"]|"")*"|[^\s".,;]+)`;
const path = String.raw`${name}(?:\.${name})?`;
const roleList = String.raw`${name}(?:, ${name})*`;

const patterns = {
  role: new RegExp(String.raw`^ *create role (${name})`, "gm"),
  schema: new RegExp(String.raw`^create schema if not exists (${name});$`, "gm"),
  read: new RegExp(String.raw`^grant select on (${path}) to (${roleList});$`, "gm"),
  write: new RegExp(
    String.raw`^grant select, insert, update, delete on (${path}) to (${roleList});$`,
    "gm",
  ),
  policy: new RegExp(String.raw`^create policy ${name} on (${path}) `, "gm"),
  revoke: /^revoke execute on all functions in schema /m,
};

/** Returns five lines on what the SQL does. Reads the file, because its user may have edited it. */
export function sqlSummary(text: string): string {
  const [sql = ""] = text.split(triggerMark);
  const firsts = (pattern: RegExp) => Array.from(sql.matchAll(pattern), ([, first]) => first!);
  const roles = firsts(patterns.role);
  const schemas = firsts(patterns.schema).map((schema) => `, and the schema ${schema}`).join("");
  const protectedTables = Array.from(new Set(firsts(patterns.policy)));
  const rows: readonly (readonly [title: string, text: string])[] = [
    [
      "creates",
      `${roles.length === 0 ? "no role" : `${roles.join(", ")} unless they exist`}${schemas}`,
    ],
    ["read", grantsText(sql.matchAll(patterns.read))],
    ["write", grantsText(sql.matchAll(patterns.write))],
    ["policies", protectedTables.length === 0 ? "none" : `on ${protectedTables.join(", ")}`],
    [
      "functions",
      patterns.revoke.test(sql)
        ? "roles call those that you grant"
        : "roles call those that PUBLIC may call",
    ],
  ];
  return `Summary:\n${rows.map(([title, text]) => `  ${title.padEnd(10)} ${text}\n`).join("")}`;
}

/** Returns the number of relations of each role, such as `web_anon 3 relations, web_user 4`. */
function grantsText(grants: Iterable<RegExpExecArray>): string {
  const counts = new Map<string, number>();
  for (const [, , roles = ""] of grants) {
    for (const [role] of roles.matchAll(new RegExp(name, "g"))) {
      counts.set(role!, (counts.get(role!) ?? 0) + 1);
    }
  }
  const texts = Array.from(counts, ([role, count]) => `${role} ${counted(count, "relation")}`);
  return texts.join(", ") || "no relation";
}
