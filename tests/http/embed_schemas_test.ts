/** Embeds of relations in another exposed schema. */
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { serviceSuite } from "../support/handler/api.ts";
import { answers, errorBody } from "../support/handler/rows.ts";

const suite = serviceSuite("declared_keys", {
  dbSchemas: ["api", "finance"],
  dbAnonRole: "anon",
  dbAggregatesEnabled: true,
}, { title: "embeds of other schemas" });

suite.answers("select= embeds a relation of another schema")`
  GET /projects?select=id,finance/budgets!projects_budget(name)&order=id
    200 [{"id":1,"budgets":{"name":"small"}},{"id":2,"budgets":{"name":"large"}},{"id":3,
      +"budgets":null}]
  GET /projects?select=id,b:finance/budgets!reserve_id(name)&b=not.is.null
    200 [{"id":1,"b":{"name":"large"}}]
  GET /projects?select=id,b:finance/budgets!projects_budget(name,total)&b.total=gt.20&id=lt.3
    +&order=id
    200 [{"id":1,"b":null},{"id":2,"b":{"name":"large","total":90}}]
  GET /projects?select=id,...finance/projects_budget(budget:name)&id=eq.1
    200 [{"id":1,"budget":"small"}]
  GET /projects?select=id,finance/budgets!projects_budget!inner()&order=id
    200 [{"id":1},{"id":2}]
  GET /projects?select=id,finance/budgets!grants(name)&id=eq.1&budgets.order=name
    200 [{"id":1,"budgets":[{"name":"large"},{"name":"small"}]}]
  GET /projects?select=id,finance/largest(name)&id=eq.1
    200 [{"id":1,"largest":{"name":"large"}}]
  GET /projects?select=id,"finance"/"projects_budget"(name)&id=eq.1
    200 [{"id":1,"projects_budget":{"name":"small"}}]
  GET /projects?select=id, b : finance / projects_budget ( name )&id=eq.1
    200 [{"id":1,"b":{"name":"small"}}]
  GET /projects?select=name,projects_budget(name)&id=eq.1
    400 SVC200 | Could not find a relationship between 'projects' and 'projects_budget' in the schema cache | Searched for a foreign key relationship between 'projects' and 'projects_budget' in the schema 'api', but no matches were found.
  GET /projects?select=id,finance/budget_id(name,total.sum())&id=eq.1
    200 [{"id":1,"budget_id":{"name":"small","sum":10}}]
`;

suite.answers("a level without a schema is searched in the request's schema")`
  GET /projects?select=id,b:finance/budget_id(name,finance/lines(amount))&id=eq.1&b.lines.order=id
    200 [{"id":1,"b":{"name":"small","lines":[{"amount":4},{"amount":6}]}}]
  GET /projects?select=lines(id),b:finance/budget_id(projects!budget_id(name))&id=eq.1
    200 [{"lines":[{"id":7}],"b":{"projects":[{"name":"roof"}]}}]
  GET /budgets?select=name,lines(id),api/projects!budget_id(name)&id=eq.2 {Accept-Profile: finance}
    200 [{"name":"large","lines":[{"id":3}],"projects":[{"name":"wall"}]}]
    Content-Profile: finance
`;

suite.answers("an embed of another schema takes part in conditions and orders")`
  GET /projects?select=id,b:finance/budget_id()&order=b(total).desc.nullslast&b(total)=gt.5
    200 [{"id":2},{"id":1}]
  GET /projects?select=id,g:finance/budgets!grants()&order=g(count()).desc,id&g=not.is.null
    200 [{"id":1},{"id":2}]
`;

const name = "field name (* or [a..z0..9_$])";
const syntaxErrors = [
  [
    "finance/budgets",
    'unexpected end of input expecting letter, digit, "-", "!" or "("',
    16,
    "( is missing at the end",
  ],
  ["finance/", `unexpected end of input expecting ${name}`, 9, "name is missing at the end"],
  [
    "/budgets(*)",
    `unexpected "/" expecting "...", ${name}, "*" or "count()"`,
    1,
    "name is missing before /budgets(*",
  ],
  [
    "finance//budgets(*)",
    `unexpected "/" expecting ${name}`,
    9,
    "name is missing before /budgets(*",
  ],
  [
    "a/b/c(*)",
    'unexpected "/" expecting letter, digit, "-", "!" or "("',
    4,
    "( is missing before /c(*)",
  ],
] as const;

const invalid = (schema: string) =>
  errorBody(
    `SVC172 | Invalid schema: ${schema} |  | Only the following schemas are exposed: api, finance`,
  );

suite.rows("an embed fails", [
  ["GET /projects?select=id,closed/plans(*)", {}, 400, invalid("closed")],
  ["GET /projects?select=id,private/plans(*)", {}, 400, invalid("private")],
  ["GET /projects?select=id,pg_catalog/pg_authid(*)", {}, 400, invalid("pg_catalog")],
  ["GET /projects?select=id,x:finance/projects_budget(api2/lines(*))", {}, 400, invalid("api2")],
  ...answers()`
    GET /projects?select=id,finance/budgets(*)
      300 {"code":"SVC201","details":[{"cardinality":"many-to-one","embedding":"projects with
        + budgets","relationship":"projects_budget using projects(budget_id) and budgets(id)"},
        +{"cardinality":"many-to-one","embedding":"projects with budgets",
        +"relationship":"projects_reserve using projects(reserve_id) and budgets(id)"},
        +{"cardinality":"many-to-many","embedding":"projects with budgets","relationship":"grants
        + using grants_project_id_fkey(project_id) and grants_budget_id_fkey(budget_id)"}],
        +"hint":"Try changing 'finance/budgets' to one of the following:
        + 'finance/budgets!projects_budget', 'finance/budgets!projects_reserve',
        + 'finance/budgets!grants'. Find the desired relationship in the 'details' key.",
        +"message":"Could not embed because more than one relationship was found for 'projects'
        + and 'finance/budgets'"}
    GET /projects?select=id,finance/projects_budget(name) as writer
      403 42501 | permission denied for schema finance
  `,
  ...syntaxErrors.map(([item, details, column, words]) =>
    [`GET /projects?select=${item}`, {}, 400, {
      code: "SVC100",
      details:
        `"failed to parse select parameter (${item})" (line 1, column ${column}): ${details}`,
      hint: null,
      message: `a ${words}`,
    }] as const
  ),
]);

const advised = serviceSuite("declared_keys", {
  dbSchemas: ["api", "finance"],
  dbAnonRole: "anon",
  clientErrorVerbosity: "advise",
}, { title: "hints on embeds of other schemas" });

const hints: readonly (readonly [target: string, hint: string, corrected: string | null])[] = [
  [
    "/grants?select=budgets(name)",
    "Write finance/budgets(name)",
    "/grants?select=finance/budgets(name)",
  ],
  ["/projects?select=plans(id)", "Perhaps you meant 'grants' instead of 'plans'.", null],
  ["/lines?select=projects!nope(id)", "", null],
];

for (const [target, expected, corrected] of hints) {
  advised.test(`${target} has the hint: ${expected}`, async (api) => {
    const { code, hint } = await (await api(`GET ${target}`)).json();
    const [first] = (hint ?? "").split(/(?:^|\. )If it was made just now/);
    deepStrictEqual([code, first], ["SVC200", expected]);
    if (corrected !== null) strictEqual((await api(`GET ${corrected}`)).status, 200);
  });
}
