/** Writes policy tests for policies that compare a column with a claim. @module */
import { equalParam, queryName } from "../../../api/request/url/filter_param.ts";
import { encodeText } from "../../../base/http/percent.ts";
import { readRows } from "../../../database/read_rows.ts";
import { printable } from "../../../base/lib/printable.ts";
import type { Column, Relation } from "../../../state/schema_cache/schema_cache.ts";
import { compile, ident, join, literal, sql } from "../../../base/sql/fragment.ts";
import { parseCaseFile, withAnswers } from "./case_file.ts";
import { type CaseState, runFile, type RunSetup, withCaseState } from "./case_handler.ts";
import { FixtureError } from "./fixtures.ts";

const head = "# Read each line: an answer may be a hole.\nset constraints all immediate;";
const loginRemedy = "generate and run this file as the login that owns the table";

/** Returns a file with responses. Cases for rows that PostgreSQL refuses to insert are comments.
 * Rejects if no policy can be tested. */
export async function generateTests(setup: RunSetup): Promise<string> {
  const name = "generated.cases";
  let drafts = await withCaseState(setup, { name, text: "" }, draftTests);
  const all = (part: keyof (typeof drafts)[0]) => drafts.flatMap((each) => each[part]);
  for (;;) {
    const [inserts, cases] = [new Set(all("insert")), new Set(all("cases"))];
    const text = [head, ...inserts, "===", ...all("callers"), "===", ...cases, ""].join("\n");
    try {
      return withAnswers(text, await runFile({ name, file: parseCaseFile(text), setup }));
    } catch (error) {
      if (!(error instanceof FixtureError)) throw error;
      const { results, failure } = error.result;
      // The last result is from the refused INSERT. The first one is from the statement before the INSERTs.
      const refused = [...inserts].filter((each) => !each.startsWith("--"))[results.length - 1];
      if (refused === undefined) throw error;
      const { message = "", detail } = failure ?? {};
      const remedy = failure?.sqlstate === "42501" ? loginRemedy : detail ?? "";
      const reason = remedy === "" ? message : `${message}; ${remedy}`;
      const insert = `-- ${printable(`${reason}: ${refused}`)}`;
      drafts = drafts.map((each) => {
        const cases = each.cases.map((line) => `# ${line}`);
        return each.insert === refused ? { ...each, insert, cases } : each;
      });
    }
  }
}

/** Query of policies, by tables in order of creation. A policy for PUBLIC is returned for each role
 * that has privileges on the table. */
const policyQuery = `select relname, rolname, json_agg(
  concat_ws(' ', pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) order by polname)
from pg_policy join pg_class c on c.oid = polrelid
  join pg_roles r on r.oid = any (polroles)
    or polroles = '{0}' and r.oid <> relowner and r.oid in (select grantee from aclexplode(relacl))
where relrowsecurity and relnamespace::regnamespace = quote_ident($1)::regnamespace
  and rolname is distinct from $2 group by polrelid, relname, rolname order by polrelid, rolname`;

/** Drafts tests for each role, on each table with a primary key in the first schema. */
async function draftTests({ appState: { snapshot }, database }: CaseState) {
  const { config: { dbAnonRole, dbSchemas: [schema = ""] }, cache } = snapshot;
  const statement = { text: policyQuery, params: [schema, dbAnonRole], use: "rows" } as const;
  const drafts = (await readRows(database, statement)).flatMap(([name, role, list]) => {
    const relation = cache!.relation({ schema, name: name! })!;
    const texts = JSON.parse(list!) as string[];
    const claims = new Map(texts.flatMap((text) => claimsOf(text, relation)));
    const hasTests = claims.size > 0 && relation.primaryKey.length > 0;
    return hasTests ? [draftOf(relation, role!, claims)] : [];
  });
  if (drafts.length > 0) return drafts;
  throw new Error(
    `schema ${schema} has no policy that compares a column with a claim of the token, on a table ` +
      "with a primary key: there is nothing to generate",
  );
}

/** Returns the columns that an expression compares with a claim, each with the name of the claim. */
function claimsOf(using: string, { columns }: Relation): readonly (readonly [Column, string])[] {
  const [, arrow, argument] = /->> '([^']+)'|\('([^']+)'::text\)/.exec(using) ?? [];
  const compared = using.matchAll(/"?(\w+)"? = \(*\s*(?:SELECT )?\(*(?:\w+\.)?\w+\(/g);
  const reversed = using.matchAll(/\)(?:::\w+)?\)* = "?(\w+)"?/g);
  const names = [...compared, ...reversed].map(([, name]) => name);
  return columns.filter(({ name }) => names.includes(name))
    .map((column) => [column, arrow ?? argument ?? "sub"] as const);
}

/** Ids of three rows: one for each of two callers, and one that a case inserts. */
const [first, second, third] = [900_001, 900_002, 900_003];

/** Returns a draft. Its rows have the keys, required columns, and columns that policies compare. */
function draftOf(relation: Relation, role: string, claims: ReadonlyMap<Column, string>) {
  const { schema, name, primaryKey, columns } = relation;
  const keys = columns.filter((each) => primaryKey.includes(each.name));
  const needed = columns.filter((each) =>
    !each.generated && (claims.has(each) || !each.nullable && each.default === null)
  );
  const filled = [...new Set([...keys, ...needed])];
  const text = columns.filter((each) => !claims.has(each) && !keys.includes(each))
    .find(({ baseType }) => /char|text/.test(baseType));
  const valuesOf = (list: readonly Column[], id: number, owner = id) =>
    list.map((each) => [each.name, valueOf(each, claims.has(each) ? owner : id)] as const);
  const body = (list: readonly Column[], owner: number) =>
    JSON.stringify(Object.fromEntries(valuesOf(list, third, owner)));
  const row = (id: number) => join(valuesOf(filled, id).map(([, value]) => literal(value)));
  const names = join(filled.map((each) => ident(each.name)));
  const insert = sql`insert into ${ident(schema, name)} (${names}) overriding system value
  values (${row(first)}), (${row(second)}) on conflict do nothing;`;
  const path = `/${encodeURIComponent(name)}`;
  const where = (id: number) =>
    `${path}?${valuesOf(keys, id).map(([key, value]) => equalParam(key, String(value))).join("&")}`;
  const get = (id: number) =>
    `GET ${where(id)}&select=${keys.map((key) => encodeText(queryName(key.name)))}`;
  const caller = `${role}_${name}`.replace(/[\s#=]/g, "_");
  const cases = [first, second].flatMap((id) => [
    get(id),
    `PATCH ${where(id)} ${body(text ? [text] : [], id)}`,
    `DELETE ${where(id)}`,
    `POST ${path} ${body(needed, id)}`,
  ]).map((request) => `${caller}_1 ${request}`);
  const callers = [first, second].map((id, index) => {
    const pairs = Array.from(claims, ([column, claim]) => [claim, valueOf(column, id)]);
    const json = JSON.stringify(Object.fromEntries(pairs));
    return `${caller}_${index + 1} ${JSON.stringify(role)} ${json}`;
  });
  return { insert: compile(insert).text, callers, cases: [...cases, `anonymous ${get(first)}`] };
}

/** Returns a value as text. Numbers, texts, times and UUIDs are different for each id. */
function valueOf({ baseType, enumLabels: [label] }: Column, id: number): string {
  if (label !== undefined || baseType === "boolean") return label ?? "true";
  if (/^(?:timestamp|date)/.test(baseType)) return `20${String(id).slice(-2)}-01-01`;
  if (/int|numeric/.test(baseType)) return String(baseType === "smallint" ? id % 1000 : id);
  return baseType === "uuid" ? `00000000-0000-4000-8000-000000${id}` : `x${id}@example.com`;
}
