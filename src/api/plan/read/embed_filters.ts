/** Conditions that test whether the embeds of a node have rows. @module */
import type { Condition, Embed, ReadNode } from "../read_node.ts";

/** Makes embeds inner joins if the conditions require their rows. Gives an alias to repeated EXISTS tests. */
export function resolveNullFilters(
  conditions: readonly Condition[],
  embeds: readonly Embed[],
  nextAlias: () => string,
): Pick<ReadNode, "conditions" | "embeds"> {
  const required = new Set<number>();
  const absent = new Set<number>();
  const rest = conditions.filter((condition) => {
    if (condition.kind !== "embedded") return true;
    const { embed, present } = condition;
    const isRepeated = (present ? required : absent).has(embed);
    (present ? required : absent).add(embed);
    return !present && !isRepeated;
  });
  const resolved = embeds.map((embed, position) =>
    required.has(position) ? { ...embed, inner: true } : embed
  );
  const uses = countUses(rest);
  return {
    conditions: rest,
    embeds: resolved.map((embed, position) => {
      const times = (uses.get(position) ?? 0) + (embed.inner ? 1 : 0);
      return times > 1 ? { ...embed, existsAlias: nextAlias() } : embed;
    }),
  };
}

function countUses(conditions: readonly Condition[]): ReadonlyMap<number, number> {
  const uses = new Map<number, number>();
  const stack = [...conditions];
  while (stack.length > 0) {
    const condition = stack.pop()!;
    if (condition.kind === "embedded") {
      uses.set(condition.embed, (uses.get(condition.embed) ?? 0) + 1);
    } else if (condition.kind === "group") {
      for (const child of condition.children) stack.push(child);
    }
  }
  return uses;
}
