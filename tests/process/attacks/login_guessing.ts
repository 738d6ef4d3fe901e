/** Guesses of a password, each of which costs the database a slow hash. */
import { requestBytes } from "../../support/clients/http_connection.ts";
import type { Attack } from "./attack.ts";
import { requestAttack } from "./requests.ts";

export const loginGuessing: Attack = {
  name: "login guessing",
  sql: `
    create function api.login(password text) returns text language plpgsql as $$
    declare hash text := password;
    begin
      for turn in 1..20000 loop hash := md5(hash); end loop;
      raise insufficient_privilege using message = 'wrong password';
    end $$;`,
  guards: { "rate-limits": "login: 5/1m by ip on POST /rpc/login" },
  start: ({ port }) => {
    const request = requestBytes("POST /rpc/login", { body: { password: "guess" } });
    return requestAttack({ port, clients: 8, request, method: "POST" });
  },
};
