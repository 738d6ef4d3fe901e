/**
 * The rows of a to-one embed that its parent is ordered by.
 *
 * @module
 */
import { type Embed, isSpread, type ReadItem, type ReadNode, type RowWindow } from "./read_node.ts";

/**
 * Reduces an embed to the output keys that an order names. Keys that it does not select are left
 * out, so that the database misses them.
 */
export function orderRows(embed: Embed, keys: ReadonlySet<string>): ReadNode {
  const { node } = embed;
  return {
    ...node,
    items: node.items.filter((item) => item.kind === "all" || keys.has(item.key)).map(sortable),
    embeds: node.embeds.map((child) => orderEmbed(child, keys)),
    order: [],
    orderSources: [],
    window: embed.mayRepeat ? singleRow(node.window) : node.window,
    paged: false,
    joined: false,
  };
}

/** JSON has no order: the value behind a representation is compared. */
function sortable(item: ReadItem): ReadItem {
  return item.kind === "column" && item.cast === null ? { ...item, convert: null } : item;
}

function orderEmbed(child: Embed, keys: ReadonlySet<string>): Embed {
  if (!isSpread(child)) return { ...child, visible: keys.has(child.key) };
  const node = orderRows(child, keys);
  const visible = node.items.length > 0 || node.embeds.some((embed) => embed.visible);
  return { ...child, node, visible };
}

function singleRow(window: RowWindow): RowWindow {
  return window.limit === "0" ? window : { ...window, limit: "1" };
}
