-- Places of a town with their positions and descriptions, for search and nearest rows.
--
-- The configuration beside this file (svc.conf) runs it in the process.

-- Roles belong to the whole server, so they may be there already.
do $$
begin
  if to_regrole('web_anon') is null then create role web_anon nologin; end if;
end $$;

create schema api;

create table api.places (
  id int primary key,
  name text not null,
  position point not null,
  about text not null,
  words tsvector generated always as (to_tsvector('english', name || ' ' || about)) stored
);
comment on column api.places.position is 'Kilometres east and north of the market';

insert into api.places (id, name, position, about) values
  (1, 'Harbour café', '(0.4, 1.2)', 'Coffee and cake with a view of the boats'),
  (2, 'Old library', '(0.1, 0.2)', 'Books, maps, and a quiet room to read'),
  (3, 'Boat yard', '(0.9, 1.5)', 'Boats are built and repaired here'),
  (4, 'Roastery', '(2.3, 0.4)', 'Coffee beans, roasted every morning'),
  (5, 'Hill tower', '(3.0, 3.1)', 'A tower with a view over the town');

-- A nearest row comes from the first index, a row with a word from the second.
create index places_by_position on api.places using gist (position);
create index places_by_words on api.places using gin (words);

grant usage on schema api to web_anon;
grant select on all tables in schema api to web_anon;
