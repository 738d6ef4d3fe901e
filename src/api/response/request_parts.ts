/** The parts of a request that hints correct. @module */
import { percentDecode } from "../../base/http/percent.ts";
import type { Relation } from "../../state/schema_cache/schema_cache.ts";
import { splitQuery } from "../request/url/query_string.ts";
import { relationOf } from "../transaction/data_plan.ts";
import type { AdviceContext } from "./advice_context.ts";

export function decoded(text: string): string {
  return percentDecode(text, "replace");
}

export function paramsOf(
  query: string,
): readonly { readonly name: string; readonly value: string }[] {
  return splitQuery(query).map(({ name, value }) => ({ name, value: value ?? "" }));
}

/** Returns the relation of a request. Before planning, it is found by the name in the path. */
export function targetRelation({ raw, cache, plan = null }: AdviceContext): Relation | null {
  if (plan !== null) return relationOf(plan);
  const name = decoded(raw.path.slice(1));
  return cache?.relations.find((relation) => relation.name === name) ?? null;
}
