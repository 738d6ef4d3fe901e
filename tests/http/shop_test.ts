import { serviceSuite } from "../support/handler/api.ts";
import { answer, answers } from "../support/handler/rows.ts";

const suite = serviceSuite("examples/shop/shop.sql", {
  dbSchemas: ["api"],
  dbAnonRole: "web_anon",
  dbAggregatesEnabled: true,
  dbCommentTags: true,
}, { title: "examples/shop", roles: [] });

/** Customer 1, and a member of the staff who works in branch 3 alone. */
const ada = { role: "shop_customer", sub: "1" };
const margaret = { role: "shop_staff", sub: "3" };

suite.rows("shop counts 20,000 rows", [
  ["GET /products?select=count()", {}, 200, [{ count: 600 }]],
  ["GET /reviews?select=count()", {}, 200, [{ count: 3300 }]],
  ["GET /customers?select=count()", { as: margaret }, 200, [{ count: 1000 }]],
  ["GET /jobs?select=count()", { as: margaret }, 200, [{ count: 500 }]],
]);

suite.rows("shop policies by claim", [
  ["GET /orders?select=count()", { as: ada }, 200, [{ count: 4 }]],
  ["GET /orders?select=customer_id&distinct=*", { as: ada }, 200, [{ customer_id: 1 }]],
  ["GET /customers?select=name", { as: ada }, 200, [{ name: "Ada Lind" }]],
  ["PATCH /customers?id=eq.2", { as: ada, body: { name: "x" } }, 204, undefined, {
    "Content-Range": "*/*",
  }],
  [
    "POST /reviews",
    { as: ada, body: { product_id: 1, customer_id: 2, stars: 5 } },
    ...answer('403 42501 | new row violates row-level security policy for table "reviews"'),
  ],
]);

suite.rows("shop policies by membership", [
  ["GET /orders?select=branch_id&distinct=*", { as: margaret }, 200, [{ branch_id: 3 }]],
  ["GET /orders?select=count()", { as: margaret }, 200, [{ count: 800 }]],
  ["GET /rpc/sales?select=month,orders&limit=1", { as: margaret }, 200, [
    { month: "2025-01-01", orders: 68 },
  ]],
]);

suite.rows("shop functions", [
  ["GET /rpc/search?words=oak%20chair&select=name", {}, 200, [
    { name: "Large oak chair" },
    { name: "Plain oak chair" },
    { name: "Small oak chair" },
  ]],
  ...answers({ as: { role: "shop_customer", sub: "1" } })`
    GET /orders?select=id,total&limit=1&order=id | 200 [{"id":1,"total":4.95}]
    POST /rpc/pay?select=id with {"order_id":1}
      409 PT409 | The order cannot be paid |  | Read its status: /orders?select=status&id=eq.1
  `,
]);
