/** The tables with row level security: each user sees the rows that policies grant to the token's
 * claim. @module */
import { firstUser, userCount } from "./fixture.ts";

/** SQL of the claim `sub`. The subquery makes PostgreSQL evaluate it once for each statement. */
const subject = "(select current_setting('request.jwt.claims', true)::json ->> 'sub')";

const users = `generate_series(${firstUser}, ${firstUser + userCount - 1})`;

/** Lets each user see and write the rows that carry the claim in a column. */
function ownRows(table: string, column: string): string {
  return `
    alter table ${table} enable row level security;
    create policy own on ${table} using (${column} = ${subject});
  `;
}

/** The table `documents`. Its ids consist of two digits and the number of the owner. */
const documents = `
  create table api.documents (
    id int primary key, owner text not null, title text, body text, status text, archived boolean,
    stars int, tags text[], extra jsonb, created timestamptz, updated timestamptz
  );
  insert into api.documents
    select place * 10000 + number, 'user-' || number, 'document ' || place,
      repeat('a few words that somebody wrote down. ', 5), 'draft', place % 10 = 0,
      place % 6, '{red,green}', '{"color": "blue", "pages": 12}',
      timestamptz 'epoch' + place * interval '1h',
      timestamptz 'epoch' + (place * 7919 % 1000) * interval '1h'
    from generate_series(10, 59) place, ${users} number;
  create index on api.documents (owner, id);
  ${ownRows("api.documents", "owner")}
  create view api.current_documents with (security_invoker) as
    select id, title, body, status, stars, tags, created, updated
    from api.documents where not archived;
  create function api.recent_documents(most int) returns setof api.documents
    language sql stable
    as 'select * from api.documents order by updated desc, id limit most';
`;

/** Each user is a member of five of 200 teams, with 250 tasks each. */
const tasks = `
  create table api.memberships (member text, team int, primary key (member, team));
  insert into api.memberships
    select 'user-' || number, (number * 7 + place * 41) % 200
    from ${users} number, generate_series(0, 4) place;
  ${ownRows("api.memberships", "member")}
  create table api.tasks (id int primary key, team int not null, title text, done boolean);
  insert into api.tasks select n, n % 200, 'task ' || n, n % 3 = 0 from generate_series(1, 50000) n;
  create index on api.tasks (team, id);
  alter table api.tasks enable row level security;
  create policy by_membership on api.tasks
    using (
      exists (select from api.memberships where team = tasks.team and member = ${subject})
    );
`;

const written = `
  create table api.entries (
    id int generated always as identity primary key,
    owner text not null default current_setting('request.jwt.claims', true)::json ->> 'sub',
    title text, body text, stars int
  );
  create index on api.entries (owner);
  ${ownRows("api.entries", "owner")}
  create table api.drafts (id int primary key, owner text not null, title text, stars int);
  create index on api.drafts (owner);
  ${ownRows("api.drafts", "owner")}
`;

/** Tables, views and functions of the cases under row level security. */
export const rlsFixture = `${documents}${tasks}${written}`;

/** Empties the table that inserts fill. */
export const emptyEntries = "truncate api.entries restart identity";

/** Fills the table that updates change. Its ids consist of a digit and the number of the owner. */
export const freshDrafts = `
  truncate api.drafts;
  insert into api.drafts
    select place * 10000 + number, 'user-' || number, 'draft ' || place, 0
    from generate_series(1, 9) place, ${users} number;
  analyze api.drafts;
`;
