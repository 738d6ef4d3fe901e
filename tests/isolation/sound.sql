-- Each case has no hole.

-- # policies by owner, with all writes
drop policy own on api.doc;
create policy own on api.doc using (owner = private.uid()) with check (owner = private.uid());
alter table api.doc alter id add generated always as identity (start 10);
grant insert (title, size), update (title, size), delete on api.doc to web_user;

-- # a view with security_invoker
create view api.docs with (security_invoker) as select id, title, size from api.doc;
grant select on api.docs to web_user;

-- # a view that counts, with security_invoker
create view api.totals with (security_invoker) as select count(*) as docs, max(size) as size from api.doc;
grant select on api.totals to web_user;

-- # a view that runs as its owner, of own rows
create view api.docs as select id, title from api.doc where owner = private.uid();
grant select on api.docs to web_user;

-- # a function that runs as its caller
create function api.docs() returns setof api.doc language sql stable as 'select * from api.doc';
create function api.total() returns bigint language sql stable as 'select count(*) from api.doc';

-- # a definer function of own rows
create function api.docs() returns setof api.doc language sql stable security definer
  as 'select * from api.doc where owner = private.uid()';

-- # computed columns and relationships that run as their caller
create function api.siblings(api.doc) returns setof api.doc language sql stable as 'select * from api.doc where id <> $1.id';
create function api.others(api.doc) returns bigint language sql stable as 'select count(*) from api.doc where id <> $1.id';

-- # a table without grants
create table api.secret (id int primary key, text text);
insert into api.secret values (1, 'x');
alter table api.secret enable row level security;

-- # a unique key of each owner
alter table api.doc add unique (owner, title);
grant update (title) on api.doc to web_user;

-- # a foreign key behind a policy
create table api.note (id int generated always as identity primary key, doc_id int not null references api.doc);
alter table api.note enable row level security;
create policy of_docs on api.note using (exists (select from api.doc d where d.id = doc_id));
insert into api.note (doc_id) values (1), (2);
grant select, insert (doc_id), update (doc_id), delete on api.note to web_user;

-- # a foreign key with the owner
alter table api.doc add unique (owner, id);
create table api.note (id int generated always as identity primary key, owner int default private.uid(), doc_id int,
  foreign key (owner, doc_id) references api.doc (owner, id));
alter table api.note enable row level security;
create policy own on api.note using (owner = private.uid());
insert into api.note (owner, doc_id) values (1, 1), (2, 2);
grant select, insert (doc_id), update (doc_id) on api.note to web_user;

-- # restrictive policies for all commands
alter policy own on api.doc using (true);
create policy mine on api.doc as restrictive using (owner = private.uid());
grant update (size, title), delete on api.doc to web_user;

-- # FORCE, below a function of the owner
create role isolation_owner;
grant usage, create on schema api, private to isolation_owner;
alter table api.doc owner to isolation_owner;
alter table api.doc force row level security;
set local role isolation_owner;
create function api.sizes() returns bigint language sql stable security definer as 'select sum(size) from api.doc';
reset role;

-- # a partitioned table without grants on partitions
create table api.event (id int, owner int, primary key (id)) partition by range (id);
create table api.event_1 partition of api.event for values from (1) to (2000000000);
insert into api.event values (1, 1), (2, 2);
alter table api.event enable row level security;
create policy own on api.event using (owner = private.uid());
grant select on api.event to web_user;

-- # a partition with the policies
create table api.event (id int, owner int, primary key (id)) partition by range (id);
create table api.event_1 partition of api.event for values from (1) to (2000000000);
insert into api.event values (1, 1), (2, 2);
alter table api.event enable row level security;
alter table api.event_1 enable row level security;
create policy own on api.event using (owner = private.uid());
create policy own on api.event_1 using (owner = private.uid());
grant select on api.event, api.event_1 to web_user;

-- # a materialized view of public rows
alter table api.doc add public boolean default false;
insert into api.doc values (4, 2, 'public', 1, true);
create policy public on api.doc for select using (public);
create materialized view api.report as select id, title from api.doc where public;
grant select on api.report to web_user, web_anon;
grant select on api.doc to web_anon;

-- # rows for everyone
create policy small on api.doc for select using (size < 8);
grant select on api.doc to web_anon;

-- # some columns
revoke select on api.doc from web_user;
grant select (id, title) on api.doc to web_user;

-- # a membership that a definer function reads
create table private.member (team int, person int, primary key (team, person));
insert into private.member values (1, 1), (1, 2), (2, 2);
alter table private.member enable row level security;
create policy own on private.member using (person = private.uid());
grant select on private.member to web_user;
create function private.teams() returns setof int language sql stable security definer
  as 'select team from private.member where person = private.uid()';
create table api.task (id int primary key, team int, text text);
insert into api.task values (1, 1, 'a'), (2, 2, 'b');
alter table api.task enable row level security;
create policy of_teams on api.task using (team in (select private.teams()));
grant select, update (text) on api.task to web_user;

-- # values that differ at each insert
create table api.note (id uuid primary key default gen_random_uuid(), owner int default private.uid(),
  created timestamptz default clock_timestamp(), text text);
insert into api.note (owner) values (1), (2);
alter table api.note enable row level security;
create policy own on api.note using (owner = private.uid());
grant select, insert (text), update (text) on api.note to web_user;

-- # a generated column, and a check of the row alone
alter table api.doc add twice int generated always as (size * 2) stored;
alter table api.doc add constraint small check (size < 100000);
grant update (size, title) on api.doc to web_user;

-- # embeds in both directions
create table api.note (id int primary key, owner int, doc_id int references api.doc);
insert into api.note values (1, 1, 1), (2, 2, 2), (3, 2, 3);
alter table api.note enable row level security;
create policy own on api.note using (owner = private.uid());
grant select on api.note to web_user;

-- # a many-to-many relationship behind policies
create table api.tag (id int primary key, word text);
insert into api.tag values (1, 'a'), (2, 'b');
create table api.doc_tag (doc_id int references api.doc, tag_id int references api.tag, primary key (doc_id, tag_id));
insert into api.doc_tag values (1, 1), (2, 1), (2, 2);
alter table api.doc_tag enable row level security;
create policy of_docs on api.doc_tag using (exists (select from api.doc d where d.id = doc_id));
grant select on api.tag, api.doc_tag to web_user;

-- # a trigger that looks at the owner's rows
create function private.quota() returns trigger language plpgsql security definer as $$ begin
  if (select count(*) from api.doc where owner = new.owner) > 9 then raise 'full'; end if; return new; end $$;
create trigger quota before update on api.doc for each row execute function private.quota();
grant update (title) on api.doc to web_user;

-- # a policy by membership in roles
create role isolation_red; create role isolation_blue;
grant isolation_red to web_user;
create table api.note (id int primary key, team text, word text);
insert into api.note values (1, 'isolation_red', 'a'), (2, 'isolation_blue', 'b');
alter table api.note enable row level security;
create policy of_team on api.note using (exists (select from pg_roles r where r.rolname = team and pg_has_role(r.oid, 'member')));
grant select, update (word), delete on api.note to web_user;

-- # a cascade to hidden rows
create table api.note (id int primary key, owner int, doc_id int references api.doc on delete cascade);
insert into api.note values (1, 2, 1), (2, 1, 1);
alter table api.note enable row level security;
create policy own on api.note using (owner = private.uid());
grant select on api.note to web_user;
grant delete on api.doc to web_user;

-- # a full-text search of own rows
create function api.found(words text default 'hers mine') returns setof api.doc language sql stable
  as $$ select * from api.doc where to_tsvector('simple', title) @@ websearch_to_tsquery('simple', replace(words, ' ', ' or ')) $$;

-- # keys of each owner, with upserts
create table api.item (owner int default private.uid(), id int, word text, primary key (owner, id));
insert into api.item values (1, 1, 'a'), (2, 1, 'b'), (2, 2, 'c');
alter table api.item enable row level security;
create policy own on api.item using (owner = private.uid());
grant select, insert (id, word), update (id, word), delete on api.item to web_user;

-- # many rows in another order than their keys
create table api.line (id int primary key, owner int, word text);
insert into api.line select (n * 7919) % 4001, n % 40 + 1, repeat('w', n % 50) from generate_series(1, 4000) n;
create index on api.line (owner); create index on api.line (word);
alter table api.line enable row level security;
create policy own on api.line using (owner = private.uid());
analyze api.line;
grant select, update (word), delete on api.line to web_user;

-- # a ranking by a view with security_invoker
insert into api.doc values (4, 1, 'second', 12);
create view api.ranks with (security_invoker) as select id, rank() over (order by size desc) from api.doc order by size limit 5;
grant select on api.ranks to web_user;

-- # tables without columns, and with generated columns alone
create table api.empty ();
create table api.derived (twice int generated always as (1 + 1) stored);
insert into api.empty default values;
insert into api.derived default values;
alter table api.empty enable row level security;
alter table api.derived enable row level security;
create policy own on api.derived using (twice < private.uid());
grant select, insert, update, delete on api.empty, api.derived to web_user;
