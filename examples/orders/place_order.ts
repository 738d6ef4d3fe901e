/**
 * Places an order with its lines in one transaction, over a network that loses answers.
 *
 * @module
 */

/** An order to place. */
export interface Order {
  readonly customerId: number;
  readonly lines: readonly { readonly sku: string; readonly quantity: number }[];
}

/** An order as the service has it. */
export interface PlacedOrder {
  readonly id: number;
  readonly status: string;
  readonly lines: readonly { readonly sku: string; readonly quantity: number }[];
}

/** Sends requests, as `fetch` does. */
export type Send = (request: Request) => Promise<Response>;

/** Attempts before the last error counts. */
const maxAttempts = 5;

/**
 * Places an order. Each attempt is the same request with the same key, so that the order is placed once even
 * if an answer is lost. Throws the service's message for an order that it refuses.
 */
export async function placeOrder(
  origin: string,
  order: Order,
  send: Send = fetch,
): Promise<PlacedOrder> {
  const key = crypto.randomUUID();
  for (let attempt = 1;; attempt++) {
    let answer: { readonly status: number; readonly body: string };
    try {
      const response = await send(batchRequest(origin, order, key));
      answer = { status: response.status, body: await response.text() };
    } catch (error) {
      if (attempt === maxAttempts) throw error;
      continue;
    }
    const { code, message, responses } = JSON.parse(answer.body);
    if (answer.status === 200) return responses.at(-1).body;
    // The earlier attempt is still running, or the service is not there: try again.
    const mayRetry = answer.status === 503 || code === "SVC155";
    if (!mayRetry || attempt === maxAttempts) throw new Error(message);
  }
}

function batchRequest(origin: string, { customerId, lines }: Order, key: string): Request {
  return new Request(`${origin}/`, {
    method: "POST",
    headers: {
      "Content-Type": "application/vnd.svc.batch+json",
      "Idempotency-Key": key,
    },
    body: JSON.stringify({
      requests: [
        { id: "order", method: "POST", url: "/orders", body: { customer_id: customerId } },
        { method: "POST", url: "/lines", body: lines, refs: { "/*/order_id": "order#/id" } },
        {
          method: "GET",
          url: "/orders?id=eq.{order}&select=id,status,lines(sku,quantity)",
          headers: { Accept: "application/vnd.pgrst.object+json" },
          refs: { "{order}": "order#/id" },
        },
      ],
    }),
  });
}
