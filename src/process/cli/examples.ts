/** The examples of `demo`. Their files are in the folder `examples`. @module */
import shopConfig from "../../../examples/shop/svc.conf" with { type: "text" };
import shopSql from "../../../examples/shop/shop.sql" with { type: "text" };
import todosConfig from "../../../examples/todos/svc.conf" with { type: "text" };
import todosSql from "../../../examples/todos/todos.sql" with { type: "text" };

export interface TryRequest {
  readonly title: string;
  /** Path and query. */
  readonly path: string;
  /** JSON for a POST with a token. Default: the request is a GET without a token. */
  readonly body?: string;
}

/** An example: its configuration file, its SQL file and requests to it. */
export interface DemoExample {
  readonly config: string;
  readonly sql: { readonly name: string; readonly text: string };
  /** Claims of tokens, by names for the text and the documentation. The first token may write. */
  readonly tokens: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly requests: readonly TryRequest[];
}

/** The examples by name; the first is the default. */
export const examples: ReadonlyMap<string, DemoExample> = new Map<string, DemoExample>([
  ["todos", {
    config: todosConfig,
    sql: { name: "todos.sql", text: todosSql },
    tokens: { TOKEN: { role: "todo_user", sub: "ada" } },
    requests: [
      { title: "Read the list, without a token", path: "/todos?done=is.false&order=due.asc" },
      { title: "Write to it, as ada", path: "/todos", body: `{"task":"learn SQL"}` },
      { title: "Call the function", path: "/rpc/remaining?owner=ada" },
    ],
  }],
  ["shop", {
    config: shopConfig,
    sql: { name: "shop.sql", text: shopSql },
    tokens: {
      TOKEN: { role: "shop_customer", sub: "1" },
      STAFF: { role: "shop_staff", sub: "1" },
    },
    requests: [
      {
        title: "Read products with their categories and the countries of their suppliers",
        path: "/products?select=name,price,categories(name),suppliers(name,countries(name))" +
          "&price=lt.20&order=price&limit=3",
      },
      { title: "Search by words", path: "/rpc/search?words=oak+chair&select=name,price,stock" },
      {
        title: "Group: reviews by their stars",
        path: "/reviews?select=stars,n:count()&order=stars.desc",
      },
      {
        title: "Order two chairs, as customer 1, with the lines in one request",
        path: "/orders?columns=note,lines(product_id,quantity)&select=id,status,lines(quantity)",
        body: `{"note":"Ring twice","lines":[{"product_id":1,"quantity":2}]}`,
      },
    ],
  }],
]);
