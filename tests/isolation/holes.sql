-- Each case has one hole. The line below its title is the leak that svc isolate finds.

-- # a view without security_invoker
-- anna GET /docs of api.doc by api.docs
create view api.docs as select * from api.doc;
grant select on api.docs to web_user;

-- # a view without it below one with it
-- anna GET /docs of api.doc by private.docs
create view private.docs as select * from api.doc;
create view api.docs with (security_invoker) as select id, title from private.docs;
grant select on private.docs, api.docs to web_user;

-- # a view with security_barrier alone
-- anna GET /docs of api.doc by api.docs
create view api.docs with (security_barrier) as select id, title from api.doc where size > 6;
grant select on api.docs to web_user;

-- # a view that counts
-- anna GET /totals of api.doc by api.totals
create view api.totals as select count(*) as docs from api.doc;
grant select on api.totals to web_user;

-- # a view with an average
-- anna GET /totals of api.doc by api.totals
create view api.totals as select avg(size)::int as average from api.doc;
grant select on api.totals to web_user;

-- # a view of own rows, with OR
-- anna GET /docs of api.doc by api.docs
create view api.docs as select id, title from api.doc where owner = private.uid() or size > 8;
grant select on api.docs to web_user;

-- # a view of own rows with a total of all
-- anna GET /docs of api.doc by api.docs
create view api.docs as select id, (select count(*) from api.doc) as total from api.doc where owner = private.uid();
grant select on api.docs to web_user;

-- # a view of own rows with a rank among all
-- anna GET /ranks of api.doc by api.ranks
create view api.ranks as select id, rank from (
  select id, owner, rank() over (order by size desc) as rank from api.doc) r where owner = private.uid();
grant select on api.ranks to web_user;

-- # a view that shows whether a row exists
-- anna GET /status of api.doc by api.status
create view api.status as select exists (select from api.doc where title = 'hers') as is_taken;
grant select on api.status to web_user;

-- # a view over a table of another schema
-- anna GET /salaries of private.salary by api.salaries
create table private.salary (id int primary key, owner int, amount int);
insert into private.salary values (1, 1, 10), (2, 2, 20);
alter table private.salary enable row level security;
create policy own on private.salary using (owner = private.uid());
grant select on private.salary to web_user;
create view api.salaries as select id, amount from private.salary;
grant select on api.salaries to web_user;

-- # a view that joins a hidden table
-- anna GET /tags of api.doc by api.tags
create table api.tag (doc_id int primary key, word text);
insert into api.tag values (1, 'a'), (2, 'b');
grant select on api.tag to web_user;
create view api.tags as select t.word, d.title from api.tag t left join api.doc d on d.id = t.doc_id;
grant select on api.tags to web_user;

-- # a view of a table without grants
-- anna GET /all_docs of api.archive by api.all_docs
create table api.archive (id int primary key, title text);
insert into api.archive values (7, 'old');
alter table api.archive enable row level security;
create view api.all_docs as select id, title from api.archive union all select 1, 'mine';
grant select on api.all_docs to web_user;

-- # a view that other tables embed
-- anna GET /docs of api.doc by api.docs
-- anna GET /note of api.doc by api.docs
create view api.docs as select * from api.doc;
create table api.note (id int primary key, doc_id int references api.doc);
insert into api.note values (1, 1), (2, 2);
grant select on api.docs, api.note to web_user;

-- # a view for writes that counts rows of others
-- anna PATCH /docs of api.doc by api.docs
create view api.docs as select * from api.doc;
grant update (size) on api.docs to web_user;

-- # a view with an INSTEAD OF trigger
-- anna PATCH /inbox of api.doc by api.doc
create view api.inbox with (security_invoker) as select id, title from api.doc;
create function private.write() returns trigger language plpgsql security definer as $$ begin
  perform from api.doc where title = new.title and owner <> private.uid();
  if found then raise sqlstate 'PT409' using message = 'taken'; end if;
  return new; end $$;
create trigger write instead of update on api.inbox for each row execute function private.write();
grant select, update on api.inbox to web_user;

-- # a materialized view
-- anna GET /report of api.doc by api.report
create materialized view api.report as select owner, sum(size) as size from api.doc group by owner;
grant select on api.report to web_user;

-- # a materialized view below security_invoker
-- anna GET /report of api.doc by private.report
create materialized view private.report as select max(size) as last from api.doc;
create view api.report with (security_invoker) as select last from private.report;
grant select on private.report, api.report to web_user;

-- # a definer function with rows
-- anonymous GET /rpc/docs of api.doc by api.docs
-- anna GET /rpc/docs of api.doc by api.docs
create function api.docs() returns setof api.doc language sql stable security definer as 'select * from api.doc';

-- # a definer function that counts
-- anonymous GET /rpc/total of api.doc by api.total
-- anna GET /rpc/total of api.doc by api.total
create function api.total() returns bigint language sql stable security definer as 'select count(*) from api.doc';

-- # a definer function with a default argument
-- anonymous GET /rpc/has of api.doc by api.has
-- anna GET /rpc/has of api.doc by api.has
create function api.has(word text default 'hers') returns boolean language sql stable security definer
  as $$ select exists (select from api.doc where title = word) $$;

-- # a definer function that raises an error
-- anonymous GET /rpc/verify of api.doc by api.verify
-- anna GET /rpc/verify of api.doc by api.verify
create function api.verify() returns text language plpgsql stable security definer as $$ begin
  if (select sum(size) from api.doc) > 20 then raise sqlstate 'PT400' using message = 'too much'; end if;
  return 'fine'; end $$;

-- # a definer function that ranks among all
-- anna GET /rpc/place of api.doc by api.place
create function api.place() returns bigint language sql stable security definer
  as $$ select count(*) from api.doc d where d.size >= (select size from api.doc where owner = private.uid()) $$;

-- # a computed column by a definer function
-- anna GET /doc of api.doc by api.others
create function api.others(api.doc) returns bigint language sql stable security definer
  as $$ select count(*) from api.doc where owner <> $1.owner $$;

-- # a computed relationship by a definer function
-- anna GET /doc of api.doc by api.siblings
create function api.siblings(api.doc) returns setof api.doc language sql stable security definer
  as $$ select * from api.doc where id <> $1.id order by id $$;

-- # a computed relationship to one row
-- anna GET /doc of api.doc by api.next
create function api.next(api.doc) returns setof api.doc rows 1 language sql stable security definer
  as $$ select * from api.doc where id > $1.id order by id limit 1 $$;

-- # a function that takes another user's claims
-- anna GET /rpc/as_her of api.doc by api.doc
create function api.as_her() returns setof api.doc language plpgsql stable as $$ begin
  perform set_config('request.jwt.claims', '{"sub":"2"}', true);
  return query select * from api.doc; end $$;

-- # a policy by a setting that a function sets
-- anna GET /rpc/look of api.doc by api.doc
alter policy own on api.doc using (owner = private.uid() or owner = nullif(current_setting('app.owner', true), '')::int);
create function api.look(as_owner int default 2) returns bigint language plpgsql stable as $$ begin
  perform set_config('app.owner', as_owner::text, true);
  return (select count(*) from api.doc); end $$;

-- # a function marked LEAKPROOF that fails
-- anna GET /doc of api.doc by api.doc
create function api.inverse(api.doc) returns int immutable leakproof language plpgsql cost 1 as $$ begin
  if $1.title = 'hers' then raise sqlstate 'PT418' using message = 'hers'; end if; return 1; end $$;

-- # a leakproof operator that fails
-- anna GET /ones of api.doc by api.doc
create type api.code as (value int);
create function private.code_eq(api.code, api.code) returns boolean immutable leakproof cost 1 language plpgsql as $$ begin
  if $1.value = 2 then raise sqlstate 'PT418' using message = 'two'; end if; return $1.value = $2.value; end $$;
create operator api.= (leftarg = api.code, rightarg = api.code, function = private.code_eq);
alter table api.doc add code api.code;
update api.doc set code = row(owner)::api.code;
create view api.ones with (security_invoker) as select id from api.doc where code operator(api.=) row(1)::api.code;
grant select on api.ones to web_user;

-- # a primary key
-- anna POST /doc of api.doc by doc_pkey
grant insert on api.doc to web_user;

-- # a primary key, by an upsert
-- anna PATCH /doc of api.doc by doc_pkey
-- anna POST /doc of api.doc by doc_pkey
create policy new on api.doc for insert with check (owner = private.uid());
grant insert, update on api.doc to web_user;

-- # a unique key
-- anna PATCH /doc of api.doc by doc_title_key
alter table api.doc add unique (title);
grant update (title) on api.doc to web_user;

-- # a unique index of an expression
-- anna PATCH /doc of api.doc by doc_lower_idx
create unique index on api.doc (lower(title));
grant update (title) on api.doc to web_user;

-- # a partial unique index
-- anna PATCH /doc of api.doc by doc_size_idx
create unique index on api.doc (size) where size > 6;
grant update (size) on api.doc to web_user;

-- # an exclusion constraint
-- anna PATCH /doc of api.doc by doc_size_excl
alter table api.doc add constraint doc_size_excl exclude (size with =);
grant update (size) on api.doc to web_user;

-- # a unique key of two columns
-- anna PATCH /doc of api.doc by doc_size_title
alter table api.doc add constraint doc_size_title unique (size, title);
grant update (size, title) on api.doc to web_user;

-- # an upsert that ignores duplicates
-- anna POST /doc of api.doc by doc_title
-- anna POST /doc of api.doc by api.doc
alter table api.doc alter id add generated by default as identity (start 10);
alter table api.doc add constraint doc_title unique (title);
grant insert (title) on api.doc to web_user;

-- # a foreign key to hidden rows
-- anna POST /note of api.doc by note_doc_id_fkey
create table api.note (id int generated always as identity primary key, doc_id int references api.doc);
grant select, insert (doc_id) on api.note to web_user;

-- # a foreign key to a table without SELECT
-- anna PATCH /note of api.doc by note_doc_id_fkey
revoke select on api.doc from web_user;
create table api.note (id int generated always as identity primary key, doc_id int references api.doc);
insert into api.note (doc_id) values (1);
grant select, update (doc_id) on api.note to web_user;

-- # a foreign key from hidden rows
-- anna DELETE /doc of api.note by note_doc_id_fkey
create table api.note (id int primary key, owner int, doc_id int references api.doc);
insert into api.note values (1, 2, 1);
alter table api.note enable row level security;
create policy own on api.note using (owner = private.uid());
grant select on api.note to web_user;
grant delete on api.doc to web_user;

-- # an UPDATE policy for all rows
-- anna PATCH /doc of api.doc by api.doc
create policy change on api.doc for update using (true);
grant update (size) on api.doc to web_user;

-- # an UPDATE policy with OR
-- anna PATCH /doc of api.doc by api.doc
create policy change on api.doc for update using (owner = private.uid() or size > 8);
grant update (size) on api.doc to web_user;

-- # a DELETE policy for all rows
-- anna DELETE /doc of api.doc by api.doc
create policy remove on api.doc for delete using (title is not null);
grant delete on api.doc to web_user;

-- # an UPDATE policy that compares text
-- anna PATCH /doc of api.doc by api.doc
insert into api.doc values (10, 10, 'tenth', 1);
create policy change on api.doc for update using (owner::text like (private.uid()::text || '%'));
grant update (size) on api.doc to web_user;

-- # a restrictive policy for SELECT alone
-- anna PATCH /doc of api.doc by api.doc
alter policy own on api.doc using (true);
create policy mine on api.doc as restrictive for select using (owner = private.uid());
grant update (size) on api.doc to web_user;

-- # a policy by a definer function
-- anna GET /note of api.doc by api.doc
create function private.has_doc(int) returns boolean language sql stable security definer
  as 'select exists (select from api.doc where id = $1)';
create table api.note (id int primary key, doc_id int);
insert into api.note values (1, 1), (2, 2);
alter table api.note enable row level security;
create policy of_docs on api.note using (private.has_doc(doc_id));
grant select on api.note to web_user;

-- # a policy by a view that runs as its owner
-- anna GET /note of api.doc by api.doc
create view private.docs as select id from api.doc;
grant select on private.docs to web_user;
create table api.note (id int primary key, doc_id int);
insert into api.note values (1, 1), (2, 2);
alter table api.note enable row level security;
create policy of_docs on api.note using (doc_id in (select id from private.docs));
grant select on api.note to web_user;

-- # a policy with a quota that counts all rows
-- anna POST /note of api.doc by api.doc
create function private.total() returns bigint language sql stable security definer as 'select count(*) from api.doc';
create table api.note (id int generated always as identity primary key, text text);
alter table api.note enable row level security;
create policy quota on api.note for insert with check (private.total() < 4);
grant insert (text) on api.note to web_user;

-- # a policy for writes by a hidden row
-- anna PATCH /doc of api.doc by api.doc
create function private.size_of(int) returns int language sql stable security definer as 'select size from api.doc where id = $1';
create policy small on api.doc as restrictive for update using (private.size_of(2) < 100);
grant update (title) on api.doc to web_user;

-- # a view over a partition
-- anna GET /events of api.event by api.event
create table api.event (id int, owner int, primary key (id)) partition by range (id);
create table api.event_1 partition of api.event for values from (1) to (100);
insert into api.event values (1, 1), (2, 2);
alter table api.event enable row level security;
create policy own on api.event using (owner = private.uid());
create view api.events with (security_invoker) as select * from api.event_1;
grant select on api.event, api.event_1, api.events to web_user;

-- # a function over the default partition
-- anna GET /rpc/rest of api.event by api.event
create table api.event (id int primary key, owner int) partition by list (id);
create table api.event_rest partition of api.event default;
insert into api.event values (1, 1), (2, 2);
alter table api.event enable row level security;
create policy own on api.event using (owner = private.uid());
grant select on all tables in schema api to web_user;
create function api.rest() returns bigint language sql stable as 'select count(*) from api.event_rest';

-- # a child table
-- anna GET /report of api.doc by api.report
create table api.report (file text) inherits (api.doc);
insert into api.report values (7, 2, 'report', 1, 'x');
grant select on api.report to web_user;

-- # a table without FORCE
-- anonymous GET /rpc/sizes of api.doc by api.sizes
-- anna GET /rpc/sizes of api.doc by api.sizes
create role isolation_owner;
grant usage, create on schema api, private to isolation_owner;
alter table api.doc owner to isolation_owner;
set local role isolation_owner;
create function api.sizes() returns bigint language sql stable security definer as 'select sum(size) from api.doc';
reset role;

-- # a default by a definer function
-- anna POST /note of api.doc by api.doc
create function private.total() returns bigint language sql stable security definer as 'select count(*) from api.doc';
create table api.note (id int generated always as identity primary key, place int default private.total(), text text);
grant select, insert (text) on api.note to web_user;

-- # a trigger that numbers all rows
-- anna PATCH /doc of api.doc by api.doc
create function private.number() returns trigger language plpgsql security definer as $$ begin
  new.size := (select max(size) + 1 from api.doc); return new; end $$;
create trigger number before insert or update on api.doc for each row execute function private.number();
grant update (title) on api.doc to web_user;

-- # a trigger with a quota for all rows
-- anna PATCH /doc of api.doc by api.doc
create function private.quota() returns trigger language plpgsql security definer as $$ begin
  if (select count(*) from api.doc) > 3 then raise sqlstate 'PT400' using message = 'full'; end if; return new; end $$;
create trigger quota before update on api.doc for each row execute function private.quota();
grant update (title) on api.doc to web_user;

-- # a counter that a trigger keeps
-- anna GET /stats of api.doc by api.doc
-- anna GET /stats of api.doc by private.count
create table api.stats (id int primary key, docs int);
insert into api.stats select 1, count(*) from api.doc;
create function private.count() returns trigger language plpgsql security definer as $$ begin
  update api.stats set docs = (select count(*) from api.doc); return null; end $$;
create trigger count after insert or delete on api.doc for each row execute function private.count();
grant select on api.stats to web_user;

-- # a generated column that reads other rows
-- anna PATCH /doc of api.doc by private.total
create function private.total(int) returns bigint language sql immutable security definer as 'select count(*) from api.doc';
alter table api.doc add total bigint generated always as (private.total(size)) stored;
grant update (size) on api.doc to web_user;

-- # a check constraint that reads other rows
-- anna PATCH /doc of api.doc by api.doc
create function private.is_rare(text) returns boolean language sql stable security definer
  as 'select not exists (select from api.doc where title = $1 and owner = 2)';
alter table api.doc add constraint rare check (private.is_rare(title)) not valid;
grant update (title) on api.doc to web_user;

-- # a domain that reads other rows
-- anna POST /note of api.doc by api.doc
create function private.is_rare(text) returns boolean language sql stable security definer
  as 'select not exists (select from api.doc where title = $1 and owner = 2)';
create domain private.rare as text check (private.is_rare(value));
create table api.note (id int generated always as identity primary key, word private.rare default 'hers');
grant insert (word) on api.note to web_user;

-- # TRUNCATE by a definer function
-- anna POST /rpc/reset of api.doc by api.reset
create table api.log (rows bigint);
create function private.log() returns trigger language plpgsql security definer as $$ begin
  insert into api.log select count(*) from api.doc; return null; end $$;
create trigger log before truncate on api.doc for each statement execute function private.log();
create function api.reset() returns bigint language sql security definer as 'truncate api.doc; select rows from api.log';
-- anna POST /rpc/reset

-- # a sequence of numbers by max()
-- anonymous GET /rpc/next_number of api.doc by api.next_number
-- anna GET /rpc/next_number of api.doc by api.next_number
create function api.next_number() returns int language sql stable security definer as 'select max(id) + 1 from api.doc';

-- # a function as a media type
-- anonymous GET /rpc/report of api.doc by api.report
-- anna GET /rpc/report of api.doc by api.report
create domain "text/plain" as text;
create function api.report() returns "text/plain" language sql stable security definer
  as $$ select string_agg(title, ',') from api.doc $$;

-- # an aggregate by a definer function
-- anna GET /odd of api.doc by api.doc
create function private.add(int, int) returns int language sql stable security definer
  as 'select $1 + (select sum(size)::int from api.doc)';
create aggregate private.weird (int) (sfunc = private.add, stype = int, initcond = '0');
create view api.odd with (security_invoker) as select private.weird(size) as sum from api.doc;
grant select on api.odd to web_user;

-- # a count of an embed past the policies
-- anna GET /docs of api.doc by api.docs
-- anna GET /person of api.doc by api.docs
create view api.docs as select id, owner from api.doc;
create table api.person (id int primary key);
insert into api.person values (1), (2);
comment on view api.docs is '@foreignKey (owner) references person (id)';
grant select on api.docs, api.person to web_user;

-- # a spread of a view that runs as its owner
-- anna GET /note of api.doc by api.titles
-- anna GET /titles of api.doc by api.titles
create table api.note (id int primary key, doc_id int references api.doc);
insert into api.note values (1, 2);
create view api.titles as select id, title from api.doc;
grant select on api.note, api.titles to web_user;

-- # bookings that must not overlap
-- anna PATCH /booking of api.booking by booking_during_excl
-- anna POST /booking of api.booking by booking_during_excl
create table api.booking (id int generated always as identity primary key, owner int default private.uid(), during tstzrange,
  exclude using gist (during with &&));
insert into api.booking (owner, during) values (1, '[2026-01-01, 2026-01-02)'), (2, '[2026-02-01, 2026-02-02)');
alter table api.booking enable row level security;
create policy own on api.booking using (owner = private.uid());
grant select, insert (during), update (during) on api.booking to web_user;

-- # a cascade to a locked row
-- anna DELETE /doc of api.comment by api.comment
create table api.comment (id int primary key, owner int, doc_id int references api.doc on delete cascade, locked boolean);
insert into api.comment values (1, 2, 1, true);
alter table api.comment enable row level security;
create policy own on api.comment using (owner = private.uid());
create function private.keep() returns trigger language plpgsql as $$ begin
  if old.locked then raise sqlstate 'PT409' using message = 'locked'; end if; return old; end $$;
create trigger keep before delete on api.comment for each row execute function private.keep();
grant delete on api.doc to web_user;

-- # a definer function with an argument
-- anonymous GET /rpc/search of api.doc by api.search
-- anna GET /rpc/search of api.doc by api.search
create function api.search(words text) returns setof text language sql stable security definer
  as $$ select title from api.doc where title ilike '%' || words || '%' $$;
-- anna GET /rpc/search?words=her

-- # a code that a function looks up
-- anna POST /rpc/redeem of private.invitation by api.redeem
create table private.invitation (code text primary key, used boolean default false);
insert into private.invitation values ('abc', true);
alter table private.invitation enable row level security;
create function api.redeem(code text) returns text language plpgsql security definer as $$ begin
  if exists (select from private.invitation i where i.code = redeem.code and used) then return 'used'; end if;
  return 'unknown'; end $$;
-- anna POST /rpc/redeem {"code":"abc"}

-- # a deferred unique key
-- anna PATCH /doc of api.doc by doc_title
alter table api.doc add constraint doc_title unique (title) deferrable initially deferred;
grant update (title) on api.doc to web_user;

-- # a tree with several owners
-- anna PATCH /doc of api.doc by doc_parent_id_fkey
alter table api.doc add parent_id int references api.doc;
grant update (parent_id) on api.doc to web_user;

-- # an insert into a view with CHECK OPTION
-- anna POST /mine of api.doc by doc_pkey
create view api.mine as select id, owner, title from api.doc where owner = private.uid() with check option;
grant select, insert on api.mine to web_user;

-- # a trigger that names an owner
-- anna POST /name of api.name by api.name
create table api.name (word text primary key, owner int default private.uid());
insert into api.name values ('hers', 2), ('mine', 1);
alter table api.name enable row level security;
create policy own on api.name using (owner = private.uid());
create function private.free() returns trigger language plpgsql security definer as $$ begin
  if exists (select from api.name where word = new.word) then
    raise sqlstate 'PT409' using message = 'taken by ' || (select owner from api.name where word = new.word); end if;
  return new; end $$;
create trigger free before insert on api.name for each row execute function private.free();
grant select, insert (word) on api.name to web_user;

-- # a function that takes a role with BYPASSRLS
-- anonymous GET /rpc/all_docs of api.doc by api.doc
-- anna GET /rpc/all_docs of api.doc by api.doc
create role isolation_admin bypassrls;
grant isolation_admin to web_user;
grant usage on schema api, private to isolation_admin;
grant select on api.doc to isolation_admin;
create function api.all_docs() returns bigint language plpgsql stable as $$ begin
  perform set_config('role', 'isolation_admin', true);
  return (select count(*) from api.doc); end $$;

-- # a view with names in quotes
-- anna GET /Odd%20view of api.Odd%20table by api.Odd%20view
create table api."Odd ""table""" ("Key,1" int, "a.b" text, "select" jsonb, "Ä" text[], owner int default private.uid(), t time, iv interval, bin bytea, b bit(3), p point, m money);
insert into api."Odd ""table""" values (1, 'x', '{}', '{a}', 1, '10:00', '1h', '\x00ff', '101', '(1,1)', 1), (2, 'y', '[1]', '{b}', 2, null, null, null, null, null, 2);
alter table api."Odd ""table""" enable row level security;
create policy "own rows" on api."Odd ""table""" using (owner = private.uid());
grant select, insert, update, delete on api."Odd ""table""" to web_user;
create view api."Odd view" as select * from api."Odd ""table""";
grant select ("Key,1", "a.b") on api."Odd view" to web_user;

-- # a nested insert with a foreign key
-- anna POST /note of api.doc by note_doc_id_fkey
-- anna POST /person of api.doc by note_doc_id_fkey
create table api.person (id int generated by default as identity primary key, name text);
create table api.note (id int generated by default as identity primary key, person_id int references api.person, doc_id int references api.doc);
insert into api.person (name) values ('a'); 
grant select, insert on api.person, api.note to web_user;

-- # a trigger that tells a number of rows
-- anna POST /doc of api.doc by api.doc
create function private.limit_docs() returns trigger language plpgsql security definer set search_path = api, pg_temp as
  $$ begin raise exception 'there are % rows', (select count(*) from api.doc); end $$;
create trigger limit_docs before insert on api.doc for each row execute function private.limit_docs();
grant insert on api.doc to web_user;

-- # an exclusion constraint and a key
-- anna POST /booking of api.booking by booking_pkey
-- anna POST /booking of api.booking by booking_span_excl
create table api.booking (id int primary key, span int4range not null, owner int not null, exclude using gist (span with &&));
insert into api.booking values (1, '[1,5)', 1), (2, '[7,9)', 2);
alter table api.booking enable row level security;
create policy own on api.booking using (owner = private.uid());
grant select, insert on api.booking to web_user;

-- # a default that continues numbers
-- anna POST /bill of api.bill by api.bill
create table api.bill (id int generated always as identity primary key, no int, owner int not null default private.uid());
insert into api.bill (no, owner) values (1, 1), (7, 2);
create function private.next_no() returns int language sql security definer set search_path = api, pg_temp as
  $$ select max(no) + 1 from bill $$;
alter table api.bill alter no set default private.next_no();
alter table api.bill enable row level security;
create policy own on api.bill using (owner = private.uid());
grant select, insert on api.bill to web_user;

-- # a check that finds other rows
-- anna POST /name of api.name by api.name
create table api.name (id int generated always as identity primary key, word text, owner int default private.uid());
insert into api.name (word, owner) values ('a', 1), ('b', 2);
create function private.is_free(text) returns bool language sql security definer set search_path = api, pg_temp as
  $$ select not exists (select from name where word = $1) $$;
alter table api.name add check (private.is_free(word)) not valid;
alter table api.name enable row level security;
create policy own on api.name using (owner = private.uid());
grant select, insert on api.name to web_user;

-- # policies on partitions alone
-- anna GET /event of private.event_1 by private.event_1
create table api.event (id int primary key, owner int) partition by list (id);
create table private.event_1 partition of api.event default;
insert into api.event values (1, 1), (2, 2);
alter table private.event_1 enable row level security;
create policy own on private.event_1 using (owner = private.uid());
grant select on api.event, private.event_1 to web_user;

-- # policies on a child alone
-- anna GET /paper of private.draft by private.draft
create table api.paper (id int primary key, owner int);
create table private.draft (word text) inherits (api.paper);
insert into private.draft values (1, 1, 'a'), (2, 2, 'b');
alter table private.draft enable row level security;
create policy own on private.draft using (owner = private.uid());
grant select on api.paper, private.draft to web_user;

-- # a foreign key that sets null in hidden rows
-- anna DELETE /doc of api.note by api.note
create table api.note (id int primary key, owner int, doc_id int references api.doc on delete set null, constraint has_doc check (doc_id is not null or owner = 1));
insert into api.note values (1, 2, 1);
alter table api.note enable row level security;
create policy own on api.note using (owner = private.uid());
grant select on api.note to web_user;
grant delete on api.doc to web_user;

-- # a response header that a trigger sets
-- anna PATCH /doc of api.doc by api.doc
create function private.tell() returns trigger language plpgsql security definer as $$ begin
  perform set_config('response.headers', json_build_array(json_build_object('X-Rows', (select count(*)::text from api.doc)))::text, true);
  return new; end $$;
create trigger tell before update on api.doc for each row execute function private.tell();
grant update (title) on api.doc to web_user;

-- # the words of a full-text search
-- anonymous GET /rpc/words of api.doc by api.words
-- anna GET /rpc/words of api.doc by api.words
create function api.words() returns setof text language sql stable security definer
  as $$ select word from ts_stat('select to_tsvector(''simple'', title) from api.doc') order by word $$;

-- # a rule that returns a number of rows
-- anna POST /ticket of api.doc by api.ticket
create table private.ticket (no bigint, text text);
create view api.ticket as select no, text from private.ticket;
create rule add as on insert to api.ticket do instead
  insert into private.ticket values ((select count(*) from api.doc), new.text) returning no, text;
grant select, insert on api.ticket to web_user;

-- # a policy that casts text of each row
-- anna GET /note of api.note by api.note
create table api.note (id int primary key, owner text, word text);
insert into api.note values (1, '1', 'a'), (2, '2', 'b');
alter table api.note enable row level security;
create policy own on api.note using (owner::int = private.uid());
grant select on api.note to web_user;

-- # own rows among the largest of all
-- anna GET /top of api.doc by api.top
create view api.top as select id from (select * from api.doc order by size desc limit 2) t where owner = private.uid();
grant select on api.top to web_user;

-- # an order by an average of all rows
-- anna GET /docs of api.doc by api.docs
insert into api.doc values (4, 1, 'second', 12);
create view api.docs as select id from api.doc d where owner = private.uid()
  order by abs(size - (select avg(size) from api.doc));
grant select on api.docs to web_user;

-- # a policy by the method
-- anna GET /doc of api.doc by api.doc
alter policy own on api.doc using (owner = private.uid() or current_setting('request.method', true) = 'HEAD');

-- # a trigger that copies a title
-- anna POST /note of api.doc by api.doc
create table api.note (id int generated by default as identity primary key, owner int default private.uid(), doc_id int, title text);
insert into api.note (owner, doc_id) values (1, 1), (2, 2);
alter table api.note enable row level security;
create policy own on api.note using (owner = private.uid());
create function private.copy() returns trigger language plpgsql security definer as $$ begin
  new.title := (select title from api.doc where id = new.doc_id); return new; end $$;
create trigger copy before insert on api.note for each row execute function private.copy();
grant select, insert (doc_id) on api.note to web_user;

-- # a trigger that copies a title at updates
-- anna PATCH /note of api.doc by api.doc
create table api.note (id int generated by default as identity primary key, owner int default private.uid(), doc_id int, title text);
insert into api.note (owner, doc_id) values (1, 1), (2, 2);
alter table api.note enable row level security;
create policy own on api.note using (owner = private.uid());
create function private.copy() returns trigger language plpgsql security definer as $$ begin
  new.title := (select title from api.doc where id = new.doc_id); return new; end $$;
create trigger copy before update on api.note for each row execute function private.copy();
grant select, update (doc_id) on api.note to web_user;

-- # a trigger that skips words of others
-- anna POST /name of api.name by api.name
create table api.name (id int generated always as identity primary key, word text, owner int default private.uid());
insert into api.name (word, owner) values ('a', 1), ('b', 2);
create function private.skip() returns trigger language plpgsql security definer as $$ begin
  if exists (select from api.name where word = new.word and owner <> private.uid()) then return null; end if; return new; end $$;
create trigger skip before insert on api.name for each row execute function private.skip();
alter table api.name enable row level security;
create policy own on api.name using (owner = private.uid());
grant select, insert (word) on api.name to web_user;

-- # a policy that divides by a value
-- anna GET /ratio of api.ratio by api.ratio
create table api.ratio (id int primary key, owner int, part int);
insert into api.ratio values (1, 1, 1), (2, 2, 0);
alter table api.ratio enable row level security;
create policy own on api.ratio using (100 / part > 0 and owner = private.uid());
grant select on api.ratio to web_user;

-- # a definer function with a required id
-- anonymous GET /rpc/title_of of api.doc by api.title_of
-- anna GET /rpc/title_of of api.doc by api.title_of
create function api.title_of(doc_id int) returns text language sql stable security definer as 'select title from api.doc where id = $1';
