/** Mutants: changes of policies, grants and views that a policy test must notice. @module */
import type { AccessPolicy } from "../access/access_query.ts";
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
  const all = [...cells.flatMap(grantMutants), ...policyMutants(cells)];
  for (const { relation } of cells.filter((cell) => views.has(cell.relation.replaceAll('"', "")))) {
    for (const [value, reader] of [[true, "caller"], [false, "owner"]]) {
      const sql = `alter view ${relation} set (security_invoker = ${value})`;
      all.push({ relation, sql, effect: `${relation} reads as its ${reader}`, matters: true });
    }
  }
  return [...new Map(all.map((mutant) => [mutant.sql, mutant])).values()];
}

function grantMutants({ relation, role, action, may, columns }: AccessCell): Mutant[] {
  const mutant = (sql: string, verb: string): Mutant => (
    { relation, sql, effect: `${role} ${verb} ${relation}`, matters: true }
  );
  const object = action === "execute" ? `function ${relation}` : relation;
  const parts = columns?.map((column) => `${action} (${column})`) ?? [action];
  const revoked = may === "no"
    ? []
    : parts.map((part) =>
      mutant(`revoke ${part} on ${object} from ${role}, public`, `loses ${part} on`)
    );
  if (action !== "select" || (may !== "no" && columns === null)) return revoked;
  return [...revoked, mutant(`grant select on ${relation} to ${role}`, "gains select on")];
}

/** Of a policy with both, USING and WITH CHECK change one at a time. */
function policyMutants(cells: readonly AccessCell[]): Mutant[] {
  const policies = new Map<
    string,
    { readonly policy: AccessPolicy; readonly cells: AccessCell[] }
  >();
  for (const cell of cells) {
    for (const policy of cell.policies) {
      const key = `${policy.name} on ${cell.relation}`;
      const entry = policies.get(key) ?? { policy, cells: [] };
      policies.set(key, { policy, cells: [...entry.cells, cell] });
    }
  }
  return Array.from(
    policies,
    ([key, { policy: { name, permissive, using, ...policy }, cells }]) => {
      const { relation } = cells[0]!;
      const writes = cells.filter(({ action }) => action === "insert" || action === "update");
      const check = writes.length === 0 ? null : policy.check ?? using;
      const isChecked = writes.some(({ columns }) =>
        columns?.some((column) => new RegExp(`(?<![:'\\w])${column}\\b`).test(check!)) ?? true
      );
      const mutant = (sql: string, effect: string, matters = true): Mutant => (
        { relation, sql, effect, matters }
      );
      const alter = (by: string | null, ifNew: string | null) =>
        `alter policy ${key}${by === null ? "" : ` using (${by})`}` +
        (ifNew === null ? "" : ` with check (${ifNew})`);
      const list = (all: readonly string[]) => [...new Set(all)].join(", ");
      const roles = list(cells.map(({ role }) => role));
      const verbs = list(cells.map(({ action }) => action).filter((action) => action !== "insert"));
      const found = [mutant(`drop policy ${key}`, `${name} of ${relation} is dropped`)];
      // To drop a restrictive policy means the same as one of these.
      if (using !== null && using !== "true" && (permissive || check !== null)) {
        const effect = `${name} lets ${roles} ${verbs} all rows of ${relation}`;
        found.push(mutant(alter("true", check), effect));
      }
      if (check !== null && check !== "true" && (permissive || using !== null)) {
        const effect = `${name} lets ${roles} write any row to ${relation}`;
        found.push(mutant(alter(using, "true"), effect, isChecked));
      }
      for (const { conjunct, rest } of conjunctsOf(using ?? "")) {
        found.push(mutant(alter(rest, check), `${name} of ${relation} leaves out ${conjunct}`));
      }
      for (const { conjunct, rest } of conjunctsOf(check ?? "")) {
        const effect = `${name} of ${relation} leaves out ${conjunct} for new rows`;
        found.push(mutant(alter(using, rest), effect, isChecked));
      }
      return found;
    },
  ).flat();
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
