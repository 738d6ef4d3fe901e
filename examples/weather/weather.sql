-- Measurements of ten weather stations: two weeks, every ten minutes, 20,160 rows.
--
-- The configuration beside this file (svc.conf) runs it in the process. On a server of your own:
--
--   createdb weather
--   psql -d weather -f examples/weather/weather.sql
--   psql -d weather -c "create role authenticator login noinherit password 'choose-one'" \
--                   -c "grant web_anon, weather_station to authenticator"
--
-- and in svc.conf: db-uri = "postgres://authenticator:choose-one@localhost/weather"

-- Roles belong to the whole server, so they may be there already.
do $$
begin
  if to_regrole('web_anon') is null then create role web_anon nologin; end if;
  if to_regrole('weather_station') is null then create role weather_station nologin; end if;
end $$;

create schema api;
comment on schema api is 'What ten weather stations measured';

create table api.locations (
  device_id text primary key,
  location text,
  environment text
);
comment on table api.locations is 'Where each station stands';

create table api.conditions (
  time timestamptz not null,
  device_id text references api.locations (device_id),
  temperature numeric,
  humidity numeric
);
comment on table api.conditions is 'Measurements, one every ten minutes and station';
comment on column api.conditions.temperature is 'Degrees Celsius';
comment on column api.conditions.humidity is 'Percent';

insert into api.locations (device_id, location, environment)
select
  'station-' || lpad(n::text, 2, '0'),
  (array['harbour', 'old town', 'airport', 'forest', 'hill'])[1 + (n - 1) % 5],
  case when n % 2 = 0 then 'inside' else 'outside' end
from generate_series(1, 10) n;

-- Warm in the afternoon and in step with the days; each station differs a little. Indoors it is steady.
insert into api.conditions (time, device_id, temperature, humidity)
select
  timestamptz '2026-01-01 00:00:00+00' + step * interval '10 minutes',
  'station-' || lpad(n::text, 2, '0'),
  round((case when n % 2 = 0 then 20 + swing else 8 + 5 * swing + n / 4.0 end)::numeric, 1),
  round((case when n % 2 = 0 then 45 - 2 * swing else 70 - 12 * swing end)::numeric, 1)
from generate_series(0, 14 * 144 - 1) step
cross join generate_series(1, 10) n
cross join lateral (select sin((step - 54 + n) * 2 * pi() / 144) as swing) day;

-- Both the newest measurement of a station and a stretch of time are found through it.
create index conditions_by_device on api.conditions (device_id, time desc);
create index conditions_by_time on api.conditions (time desc);

-- The newest measurement of each station.
create view api.current_conditions as
select l.device_id, l.location, l.environment, c.time, c.temperature, c.humidity
from api.locations l
cross join lateral (
  select time, temperature, humidity from api.conditions
  where device_id = l.device_id
  order by time desc
  limit 1
) c;
comment on view api.current_conditions is 'The newest measurement of each station';

-- Measurements at both ends of the scale. PostgreSQL does not know keys of such a view; its comment
-- declares them.
create view api.extremes as
(
  select 'warmest' as kind, device_id, time, temperature from api.conditions
  order by temperature desc, device_id, time limit 1
)
union all
(
  select 'coldest', device_id, time, temperature from api.conditions
  order by temperature, device_id, time limit 1
);
comment on view api.extremes is
  'The warmest and the coldest measurement
@primaryKey (kind)
@foreignKey (device_id) references locations (device_id)';

-- Averages by the hour, as far back from a station's newest measurement as `since` says: "90minutes".
create function api.hourly(device text, since interval default '24 hours')
returns table (hour timestamptz, measurements bigint, temperature numeric, humidity numeric)
language sql stable
as $$
  select date_trunc('hour', c.time), count(*), round(avg(c.temperature), 2), round(avg(c.humidity), 2)
  from api.conditions c
  where c.device_id = hourly.device
    and c.time > (select max(time) from api.conditions where device_id = hourly.device) - hourly.since
  group by 1
  order by 1
$$;
comment on function api.hourly is 'Averages of a station by the hour, up to its newest measurement';

-- Everybody reads; a station reports what it measured.
grant usage on schema api to web_anon, weather_station;
grant select on api.locations, api.conditions, api.current_conditions, api.extremes
  to web_anon, weather_station;
grant insert on api.conditions to weather_station;

analyze api.conditions;
