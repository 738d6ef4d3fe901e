/** The rows of a to-one embed by which the parent is ordered. @module */
import { type Embed, isSpread, type ReadItem, type ReadNode } from "../read_node.ts";

/** Returns the embed's rows as a source of the parent's order. Unselected keys are removed, so that
 * PostgreSQL reports them as missing columns. */
export function orderSourceNode(embed: Embed, keys: ReadonlySet<string>): ReadNode {
  const { node } = embed;
  return {
    ...node,
    items: node.items.filter((item) => item.kind === "all" || keys.has(item.key)).map(sortable),
    embeds: node.embeds.map((child) => orderEmbed(child, keys)),
    kind: node.kind === "grouped" ? node.kind : "plain",
    distinct: null,
    order: [],
    orderSources: [],
    range: embed.mayRepeat && node.range.limit !== "0" ? { ...node.range, limit: "1" } : node.range,
    joined: false,
  };
}

/** Returns a value with an order. `json` has no ordering operator, so the unconverted value is used. */
function sortable(item: ReadItem): ReadItem {
  return item.kind === "column" && item.cast === null ? { ...item, convert: null } : item;
}

function orderEmbed(child: Embed, keys: ReadonlySet<string>): Embed {
  if (!isSpread(child)) return { ...child, hasOutput: keys.has(child.key) };
  const node = orderSourceNode(child, keys);
  const hasOutput = node.items.length > 0 || node.embeds.some((embed) => embed.hasOutput);
  return { ...child, node, hasOutput };
}
