/**
 * The rows of a to-one embed that its parent is ordered by.
 *
 * @module
 */
import { type Embed, isSpread, type ReadItem, type ReadNode, type RowRange } from "./read_node.ts";

/**
 * Reduces an embed to the output keys that an order names. Keys that it does not select are left
 * out, so that the database misses them.
 */
export function orderSourceNode(embed: Embed, keys: ReadonlySet<string>): ReadNode {
  const { node } = embed;
  return {
    ...node,
    items: node.items.filter((item) => item.kind === "all" || keys.has(item.key)).map(sortable),
    embeds: node.embeds.map((child) => orderEmbed(child, keys)),
    order: [],
    orderSources: [],
    range: embed.mayRepeat ? singleRow(node.range) : node.range,
    paged: false,
    joined: false,
  };
}

/** JSON has no order: the value behind a representation is compared. */
function sortable(item: ReadItem): ReadItem {
  return item.kind === "column" && item.cast === null ? { ...item, convert: null } : item;
}

function orderEmbed(child: Embed, keys: ReadonlySet<string>): Embed {
  if (!isSpread(child)) return { ...child, hasOutput: keys.has(child.key) };
  const node = orderSourceNode(child, keys);
  const hasOutput = node.items.length > 0 || node.embeds.some((embed) => embed.hasOutput);
  return { ...child, node, hasOutput };
}

function singleRow(range: RowRange): RowRange {
  return range.limit === "0" ? range : { ...range, limit: "1" };
}
