/** Tables with policies of each kind. Each row proves the identity under which it was read: `viewer`. @module */
import { liveSql } from "../../../../src/wings/live/live_schema.ts";
import { testSecret } from "../../../support/handler/token.ts";
import type { FileConfig } from "../../../support/server/process.ts";

/** Each has policies of its own. */
export const roles = [
  "reader_own",
  "reader_team",
  "reader_open",
  "reader_altered",
  "reader_function",
] as const;

export const subjects = ["ada", "ben", "clara", "david", "emma"] as const;
/** No policy shows a row of another realm. */
export const realms = [1, 2, 3] as const;
export const teams = [1, 2, 3, 4, 5, 6] as const;
export const statuses = ["draft", "open", "done"] as const;

/** Conditions that the policy of `reader_altered` has by turns. */
export const alteredConditions = ["status = 'open'", "amount < 50", "true", "false"] as const;

const recorded = ["items:owner", "notes", "teams", "members", "accounts"];

/** For two services on one database. No recheck hides a change that was missed. */
export const liveConfig: FileConfig = {
  "db-aggregates-enabled": true,
  "jwt-secret": testSecret,
  "live-path": "/live",
  "live-interval": "50ms",
  "live-recheck": "10m",
};

export const liveTables = `
${roles.map((role) => `create role ${role} nologin; grant ${role} to authenticator;`).join("\n")}
create schema app;
create function app.claim(name text) returns text stable language sql
  as $$ select nullif(current_setting('request.jwt.claims', true), '')::json ->> name $$;
create function app.viewer() returns text stable language sql
  as $$ select concat_ws(' ', current_user, app.claim('sub'), app.claim('realm')) $$;
create table api.teams (id int primary key, realm int not null, title text not null);
create table api.members (team int, sub text, primary key (team, sub));
create table api.items (
  id int primary key, realm int not null, owner text not null, team int references api.teams,
  status text not null, amount int not null, hidden boolean not null default false
);
create table api.notes (
  id int primary key, realm int not null, item int not null references api.items on delete cascade,
  text text not null, hidden boolean not null default false
);
create table api.accounts (id int primary key, realm int not null, balance int not null default 0);
create function app.may(team int) returns boolean stable security definer set search_path = '' begin atomic
  select exists (select from api.members m where m.team = $1 and m.sub = app.claim('sub')); end;
create view api.open_items with (security_barrier) as
  select id, realm, amount, app.viewer() as viewer from api.items
  where status = 'open' and not hidden and realm::text = app.claim('realm') and owner = app.claim('sub');
create function api.notes_count(api.items) returns bigint stable begin atomic
  select count(*) from api.notes n where n.item = $1.id; end;
${
  ["teams", "items", "notes", "accounts"].map((table) => `
create function api.viewer(api.${table}) returns text stable language sql as 'select app.viewer()';
alter table api.${table} enable row level security;
create policy realm on api.${table} as restrictive
  using (realm::text = app.claim('realm')${/items|notes/.test(table) ? " and not hidden" : ""});`)
    .join("")
}
create policy all_rows on api.teams using (true);
create policy all_rows on api.accounts using (true);
create policy own on api.items to reader_own using (owner = app.claim('sub'));
create policy team on api.items to reader_team using (exists (
  select from api.members m where m.team = items.team and m.sub = app.claim('sub')));
create policy open on api.items to reader_open using (status <> 'draft');
create policy altered on api.items to reader_altered using (true);
create policy may on api.items to reader_function using (app.may(team));
create policy of_items on api.notes using (exists (select from api.items i where i.id = item));
grant usage on schema api, app to ${roles.join(", ")};
grant select on all tables in schema api to ${roles.join(", ")};
insert into api.teams select i, 1 + i % 3, 'team ' || i from generate_series(1, 6) i;
insert into api.members select t, s from unnest(array[${teams}]) t,
  unnest('{${subjects}}'::text[]) s where (t + length(s)) % 2 = 0;
insert into api.accounts select i, 1 + i % 3 from generate_series(1, 9) i;
insert into api.items select i, 1 + i % 3, ('{${subjects}}'::text[])[1 + i % 5], 1 + (i + 2) % 6,
  ('{${statuses}}'::text[])[1 + i % 7 % 3], i % 100 from generate_series(1, 150) i;
insert into api.notes select i, 1 + i % 3, i, 'note ' || i from generate_series(1, 90) i;
${
  liveSql(
    "authenticator",
    recorded.map((text) => {
      const [name = "", scope = null] = text.split(":");
      return { schema: "api", name, scope };
    }),
  )
}`;
