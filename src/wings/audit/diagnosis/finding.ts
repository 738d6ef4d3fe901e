/** A finding of the diagnosis, and its text forms. @module */
import { callText, type CallWords } from "../../../base/observe/call_words.ts";
import { counted, oneLine, printable } from "../../../base/lib/printable.ts";
import { groupBy } from "../../../base/lib/group_by.ts";

/** Levels from the most to the least severe. */
export const findingLevels = ["error", "warn", "info"] as const;

export type FindingLevel = typeof findingLevels[number];

/** A problem in the database or the configuration, which makes requests fail or grants too much. */
export interface Finding {
  /** Name of the check: `role-missing`. */
  readonly name: string;
  readonly level: FindingLevel;
  /** The role, schema, relation, function or option that has the problem. */
  readonly subject: string;
  readonly message: string;
  /** Statements that correct the problem, separated by line breaks; null if SQL cannot. */
  readonly sql: string | null;
}

/** Returns `error role-missing: role web_anon does not exist` on one line. */
export function findingLine({ level, name, message }: Finding): string {
  return `${level} ${name}: ${oneLine(message)}`;
}

/** Maximum lines of SQL that are shown for one finding. */
const maxSqlLines = 20;

/** Maximum number of findings of one name that are shown. */
const maxShown = 5;

/** Returns the findings as text. A line counts the findings of one level and name. The first of these
 * findings follow it, each with its SQL indented. */
export function findingsText(findings: readonly Finding[], call: CallWords): string {
  const kinds = groupBy(findings, ({ level, name }) => `${level} ${name}`);
  return [...kinds].flatMap(([kind, group]) => {
    if (group.length === 1) return [findingLine(group[0]!), ...sqlLines(group[0]!, call)];
    const first = group.slice(0, maxShown).flatMap((finding) => [
      oneLine(finding.message),
      ...sqlLines(finding, call),
    ]);
    const more = group.length - maxShown;
    const rest = more > 0 ? [`and ${more} more: ${callText(call, "check --json")}`] : [];
    return [`${kind}: ${group.length} times`, ...indented([...first, ...rest])];
  }).map((line) => `${line}\n`).join("");
}

/** Returns the SQL of a finding, indented. For long SQL, returns the call that prints it. */
function sqlLines(finding: Finding, call: CallWords): readonly string[] {
  if (finding.sql === null) return [];
  const statements = finding.sql.split("\n");
  const lines = statements.length > maxSqlLines
    ? [`${statements.length} lines of SQL: ${callText(call, "check --fix-sql")}`]
    : statements.map(printable);
  const caution = cautionOf(finding);
  return indented([...caution === null ? [] : [`-- caution: ${caution}`], ...lines]);
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `    ${line}`);
}

/** Possible damage by the SQL of a finding, by the name of the finding. */
const cautions: ReadonlyMap<string, string | null> = new Map([
  ["policy-without-rls", "rows that no policy allows are hidden from requests afterwards"],
  ["select-policy-missing", "the rows become readable"],
  ["policy-without-grant", "it may grant more than is wanted"],
  ["nothing-readable", "the role reads every row that no policy hides: choose the relations"],
  ["definer-callable", "requests without a token cannot call the function afterwards"],
  ["copy-exposed", "requests cannot read it afterwards"],
  ["policy-volatile", "a function that writes, or changes its result, must stay VOLATILE"],
  ["policy-per-row", null],
  ["policy-index", "writes take longer with each index"],
  ["foreign-key-index", "writes take longer with each index"],
  ["index-duplicate", "queries use the other index afterwards"],
  ["write-without-rls", "writes of requests fail afterwards until a policy allows them"],
  ["view-owner-rights", "callers need privileges on the tables afterwards"],
  ["definer-search-path", "a function that uses objects of other schemas fails afterwards"],
]);

/** Returns the danger of a finding's SQL; null if it can be applied without review. */
export function cautionOf({ name, level, message }: Finding): string | null {
  const caution = cautions.get(name);
  if (caution !== undefined) return caution;
  if (level === "info") return "it may grant more than is wanted";
  const isMisspelt = name === "schema-missing" && message.includes("; did you mean ");
  return isMisspelt ? "the configuration may have the wrong name" : null;
}

/** Returns the SQL of findings for `psql`. Equal statements are included once. SQL that may break a
 * working API, or grant more than intended, is commented out below a caution. */
export function findingsSql(findings: readonly Finding[]): string {
  const seen = new Set<string>();
  return findings.flatMap((finding) => {
    const { sql } = finding;
    if (sql === null || seen.has(sql)) return [];
    seen.add(sql);
    const caution = cautionOf(finding);
    const lines = caution === null ? sql : `-- caution: ${caution}\n${commented(sql)}`;
    return [`-- ${findingLine(finding)}\n${lines}\n`];
  }).join("");
}

/** Returns SQL as comments. A line break in a name does not end the comment. */
export function commented(sql: string): string {
  return sql.split(/\r\n|[\r\n]/).map((line) => `-- ${line}`).join("\n");
}

const nouns: Readonly<Record<FindingLevel, string>> = {
  error: "error",
  warn: "warning",
  info: "note",
};

/** Returns the numbers by level: `1 error, 2 warnings`. Levels without findings are left out. */
export function countText(findings: readonly Finding[]): string {
  const counts = findingLevels.map((level) => {
    const count = findings.filter((each) => each.level === level).length;
    return count === 0 ? [] : counted(count, nouns[level]);
  });
  return counts.flat().join(", ") || "nothing found";
}
