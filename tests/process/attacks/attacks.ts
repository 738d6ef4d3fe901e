/** All attacks, in the order of the table. @module */
import type { Attack } from "./attack.ts";
import { connectionFlood } from "./connection_flood.ts";
import { crossSiteWrite } from "./cross_site_write.ts";
import { endlessBody } from "./endless_body.ts";
import { expensiveQuery } from "./expensive_query.ts";
import { headerFlood } from "./header_flood.ts";
import { loginGuessing } from "./login_guessing.ts";
import { replayedToken } from "./replayed_token.ts";
import { rotatedKey } from "./rotated_key.ts";
import { slowloris } from "./slowloris.ts";
import { zipBomb } from "./zip_bomb.ts";

/** Each puts up a database and a service of its own, once without its guards and once with them. */
export const attacks: readonly Attack[] = [
  slowloris,
  endlessBody,
  zipBomb,
  headerFlood,
  connectionFlood,
  expensiveQuery,
  loginGuessing,
  replayedToken,
  rotatedKey,
  crossSiteWrite,
];
