/** Summarizes the SQL file of `svc init` before the question whether to apply it. @module */
import { counted } from "../../../base/lib/printable.ts";
import { list } from "../diagnosis/catalogue_findings.ts";
import { triggerMark } from "./init_sql.ts";

/** Matches a name in SQL, with or without quotes. */
const name = String.raw`(?:"(?:[^"]|"")*"|[^\s".,;]+)`;
const path = String.raw`${name}(?:\.${name})?`;
const roleList = String.raw`${name}(?:, ${name})*`;

const nameInList = new RegExp(name, "g");

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

/** Returns lines about the effect of the SQL. Reads the file, because the user may have edited it.
 * `secrets` are columns that look like secrets, such as `app.users.password`. */
export function sqlSummary(text: string, secrets: readonly string[]): string {
  const [sql = ""] = text.split(triggerMark);
  const firsts = (pattern: RegExp) => Array.from(sql.matchAll(pattern), ([, first]) => first!);
  const roles = rolesOf(sql);
  const schemas = firsts(patterns.schema).map((schema) => `, and the schema ${schema}`).join("");
  const relations = firsts(patterns.read);
  const shown = secrets.filter((each) => relations.some((name) => each.startsWith(`${name}.`)));
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
    ...shown.length === 0 ? [] : [[
      "caution",
      `requests read ${list(shown)}, by name secrets: grant select (columns) instead`,
    ]] as const,
  ];
  return `Summary:\n${rows.map(([title, text]) => `  ${title.padEnd(10)} ${text}\n`).join("")}`;
}

/** Returns the number of relations of each role, such as `web_anon 3 relations, web_user 4`. */
function grantsText(grants: Iterable<RegExpExecArray>): string {
  const counts = new Map<string, number>();
  for (const role of Array.from(grants).flatMap(([, , roles]) => roles!.match(nameInList) ?? [])) {
    counts.set(role, (counts.get(role) ?? 0) + 1);
  }
  const texts = Array.from(counts, ([role, count]) => `${role} ${counted(count, "relation")}`);
  return texts.join(", ") || "no relation";
}

/** Returns the roles that the SQL creates if they do not exist. */
export function rolesOf(sql: string): readonly string[] {
  return Array.from(sql.matchAll(patterns.role), ([, role]) => role!);
}
