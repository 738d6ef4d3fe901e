/** Reads that scan a large table. */
import { requestBytes } from "../../support/clients/http_connection.ts";
import type { Attack } from "./attack.ts";
import { requestAttack } from "./requests.ts";

export const expensiveQuery: Attack = {
  name: "expensive query",
  sql: `
    create table api.notes (id int primary key, note text);
    insert into api.notes select i, md5(i::text) from generate_series(1, 400000) as i;
    analyze api.notes;
    grant select on api.notes to anon;`,
  guards: { "db-max-cost": 1000 },
  start: ({ port }) => {
    const request = requestBytes("GET /notes?note=ilike.*nothing*&order=note&limit=1");
    return requestAttack({ port, clients: 16, request, method: "GET" });
  },
};
