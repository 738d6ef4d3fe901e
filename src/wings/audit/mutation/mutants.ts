/** Mutants: changes of policies, grants and views that a policy test should detect. @module */
import { groupBy } from "../../../base/lib/group_by.ts";
import type { AccessCell } from "../access/cells.ts";

/** A change of the catalogue. */
export interface Mutant {
  /** The changed relation or function, as named in cells. */
  readonly relation: string;
  /** One statement. */
  readonly sql: string;
}

/** Returns mutants that change the access in `cells`. The names of `views` are unquoted. */
export function mutantsOf(
  cells: readonly AccessCell[],
  views: ReadonlySet<string>,
): readonly Mutant[] {
  const viewCells = cells.filter(({ relation }) => views.has(relation.replaceAll('"', "")));
  const all = [
    ...cells.flatMap(grantMutants),
    ...policyMutants(cells),
    ...viewCells.flatMap(({ relation }) =>
      ["true", "false"].map((value) => ({
        relation,
        sql: `alter view ${relation} set (security_invoker = ${value})`,
      }))
    ),
  ];
  return [...new Map(all.map((mutant) => [mutant.sql, mutant])).values()];
}

function grantMutants({ relation, role, action, may, columns }: AccessCell): readonly Mutant[] {
  const object = action === "execute" ? `function ${relation}` : relation;
  const parts = may === "no" ? [] : columns?.map((each) => `${action} (${each})`) ?? [action];
  const isGrantable = action === "select" && (may === "no" || columns !== null);
  return [
    ...parts.map((part) => ({ relation, sql: `revoke ${part} on ${object} from ${role}, public` })),
    ...isGrantable ? [{ relation, sql: `grant select on ${relation} to ${role}` }] : [],
  ];
}

/** Returns the mutants of a policy. If it has both USING and WITH CHECK, a mutant changes only one of them. */
function policyMutants(cells: readonly AccessCell[]): readonly Mutant[] {
  const pairs = cells.flatMap((cell) => cell.policies.map((policy) => ({ policy, cell })));
  const groups = groupBy(pairs, ({ policy, cell }) => `${policy.name} on ${cell.relation}`);
  return Array.from(groups, ([key, pairs]) => {
    const { policy: { permissive, using, check: policyCheck }, cell: { relation } } = pairs[0]!;
    const writes = pairs.filter(({ cell: { action } }) => /insert|update/.test(action));
    const check = writes.length === 0 ? null : policyCheck ?? using;
    const isChecked = writes.some(({ cell: { columns } }) =>
      columns?.some((column) => new RegExp(`(?<![:'\\w])${column}\\b`).test(check!)) ?? true
    );
    // A restrictive policy with one condition gets no mutant `true`, because DROP POLICY has the same effect.
    const hasAll = permissive || using !== null && check !== null;
    const mutant = (condition: string | null, rest: string | null): Mutant => {
      const clauses = (condition === null ? "" : ` using (${condition})`) +
        (rest === null ? "" : ` with check (${rest})`);
      return { relation, sql: `alter policy ${key}${clauses}` };
    };
    return [
      { relation, sql: `drop policy ${key}` },
      ...weaker(using, hasAll).map((each) => mutant(each, check)),
      ...weaker(isChecked ? check : null, hasAll).map((each) => mutant(using, each)),
    ];
  }).flat();
}

function weaker(condition: string | null, hasAll: boolean): readonly string[] {
  if (condition === null || condition === "true") return [];
  return [...hasAll ? ["true"] : [], ...weakerConditions(condition)];
}

/** Returns variants of a condition in which `true` replaces one operand of AND. `pg_get_expr` puts
 * each chain of AND in parentheses. */
function weakerConditions(condition: string): readonly string[] {
  const conditions: string[] = [];
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
        conditions.push(`${condition.slice(0, from)}true${condition.slice(to)}`);
      }
    }
  }
  return conditions;
}
