/**
 * Imports the orders of another shop: each with its customer, its lines and its labels. What exists already is
 * used, so that an import can be repeated.
 *
 * @module
 */
import type { Send } from "./place_order.ts";

/** An order in the other shop's books. */
export interface ForeignOrder {
  readonly number: string;
  readonly customers: { readonly name: string; readonly email: string };
  readonly lines: readonly { readonly sku: string; readonly quantity: number }[];
  readonly labels: readonly { readonly name: string }[];
}

/** The columns of each level, and how rows are found that exist. */
const query = new URLSearchParams({
  "columns": "number,customers(name,email),lines(sku,quantity),labels(name)",
  "on_conflict": "number",
  "customers.on_conflict": "email",
  "customers.resolution": "ignore-duplicates",
  "lines.on_conflict": "order_id,sku",
  "lines.resolution": "ignore-duplicates",
  "labels.on_conflict": "name",
  "labels.resolution": "ignore-duplicates",
});

/** Imports orders by one request. Either all are imported, or none; throws the service's message then. */
export async function importOrders(
  origin: string,
  orders: readonly ForeignOrder[],
  send: Send = fetch,
): Promise<void> {
  const response = await send(
    new Request(`${origin}/orders?${query}`, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "Prefer": "resolution=ignore-duplicates",
      },
      body: JSON.stringify(orders),
    }),
  );
  const text = await response.text();
  if (!response.ok) throw new Error(JSON.parse(text).message);
}
