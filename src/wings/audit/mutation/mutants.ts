/** Mutants: changes of policies, grants and views that a policy test must notice. @module */
import { groupBy } from "../../../base/lib/group_by.ts";
import type { AccessCell } from "../access/cells.ts";

/** A change of the catalogue. */
export interface Mutant {
  /** The relation or function that it changes, as cells name it. */
  readonly relation: string;
  /** One statement. */
  readonly sql: string;
  /** The effect in words: `own lets customers read all rows of api.orders`. */
  readonly effect: string;
  /** Whether it can concern a caller. */
  readonly matters: boolean;
}

/** Returns the mutants of the access that callers have. `views` has names without quotes. */
export function mutantsOf(
  cells: readonly AccessCell[],
  views: ReadonlySet<string>,
): readonly Mutant[] {
  const viewCells = cells.filter(({ relation }) => views.has(relation.replaceAll('"', "")));
  const all = [
    ...cells.flatMap(grantMutants),
    ...policyMutants(cells),
    ...viewCells.flatMap(({ relation }) =>
      [["true", "caller"], ["false", "owner"]].map(([value, reader]): Mutant => ({
        relation,
        sql: `alter view ${relation} set (security_invoker = ${value})`,
        effect: `${relation} reads as its ${reader}`,
        matters: true,
      }))
    ),
  ];
  return [...new Map(all.map((mutant) => [mutant.sql, mutant])).values()];
}

function grantMutants({ relation, role, action, may, columns }: AccessCell): Mutant[] {
  const object = action === "execute" ? `function ${relation}` : relation;
  const parts = may === "no" ? [] : columns?.map((each) => `${action} (${each})`) ?? [action];
  const isGrantable = action === "select" && (may === "no" || columns !== null);
  const changes = [
    ...parts.map((part) => [`revoke ${part} on ${object} from ${role}, public`, `loses ${part}`]),
    ...isGrantable ? [[`grant select on ${relation} to ${role}`, "gains select"]] : [],
  ];
  return changes.map(([sql = "", words]) => (
    { relation, sql, effect: `${role} ${words} on ${relation}`, matters: true }
  ));
}

/** Of a policy with both, USING and WITH CHECK change one at a time. */
function policyMutants(cells: readonly AccessCell[]): Mutant[] {
  const pairs = cells.flatMap((cell) => cell.policies.map((policy) => ({ policy, cell })));
  const groups = groupBy(pairs, ({ policy, cell }) => `${policy.name} on ${cell.relation}`);
  return Array.from(groups, ([key, pairs]) => {
    const { policy: { name, permissive, using, check: own }, cell: { relation } } = pairs[0]!;
    const writes = pairs.filter(({ cell: { action } }) => /insert|update/.test(action));
    const check = writes.length === 0 ? null : own ?? using;
    const unique = (part: "role" | "action") => [...new Set(pairs.map(({ cell }) => cell[part]))];
    const verbs = unique("action").filter((action) => action !== "insert").join(", ");
    const lets = `${name} lets ${unique("role").join(", ")}`;
    const isChecked = writes.some(({ cell: { columns } }) =>
      columns?.some((column) => new RegExp(`(?<![:'\\w])${column}\\b`).test(check!)) ?? true
    );
    // To drop a restrictive policy means the same as `true` for its only condition.
    const hasAll = permissive || using !== null && check !== null;
    const parts = [
      { text: using, all: `${verbs} all rows of`, end: "", matters: true },
      { text: check, all: "write any row to", end: " for new rows", matters: isChecked },
    ];
    const weaker = parts.flatMap(({ text, all, end, matters }, at) => {
      const mutant = (rest: string, effect: string): Mutant => {
        const clauses = [["using", using], ["with check", check]].map(([word, old], index) => {
          const value = index === at ? rest : old;
          return value === null ? "" : ` ${word} (${value})`;
        });
        return { relation, sql: `alter policy ${key}${clauses.join("")}`, effect, matters };
      };
      if (text === null || text === "true") return [];
      return [
        ...hasAll ? [mutant("true", `${lets} ${all} ${relation}`)] : [],
        ...conjunctsOf(text).map(({ conjunct, rest }) =>
          mutant(rest, `${name} of ${relation} leaves out ${conjunct}${end}`)
        ),
      ];
    });
    const effect = `${name} of ${relation} is dropped`;
    return [{ relation, sql: `drop policy ${key}`, effect, matters: true }, ...weaker];
  }).flat();
}

/** Returns a condition of `pg_get_expr`, where brackets enclose each chain of AND, with `true` for each operand. */
export function conjunctsOf(condition: string) {
  const found: { readonly conjunct: string; readonly rest: string }[] = [];
  const chains: number[][] = [[0]];
  for (
    const { 0: token, index } of `${condition})`.matchAll(
      /'(?:[^']|'')*'|"(?:[^"]|"")*"|[()]| AND /g,
    )
  ) {
    if (token === "(") chains.push([index + 1]);
    else if (token === " AND ") chains.at(-1)!.push(index + token.length);
    else if (token === ")") {
      const starts = chains.pop()!;
      for (const [at, from] of starts.length === 1 ? [] : starts.entries()) {
        const to = at + 1 < starts.length ? starts[at + 1]! - " AND ".length : index;
        const rest = `${condition.slice(0, from)}true${condition.slice(to)}`;
        found.push({ conjunct: condition.slice(from, to), rest });
      }
    }
  }
  return found;
}
