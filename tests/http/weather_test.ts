import { apiSuite } from "../support/api.ts";

const suite = apiSuite(
  "examples/weather/weather.sql",
  { dbSchemas: ["api"], dbAnonRole: "web_anon", dbMaxRows: 1000 },
  { title: "examples/weather", roles: [] },
);

suite.rows("locations", [
  ["GET /locations?device_id=eq.station-04", {}, 200, [
    { device_id: "station-04", location: "forest", environment: "inside" },
  ]],
  [
    "GET /locations?environment=eq.outside&select=device_id,newest:conditions(time,temperature)" +
    "&newest.order=time.desc&newest.limit=1&order=device_id&limit=2",
    {},
    200,
    [
      {
        device_id: "station-01",
        newest: [{ time: "2026-01-14T23:50:00+00:00", temperature: 4.7 }],
      },
      {
        device_id: "station-03",
        newest: [{ time: "2026-01-14T23:50:00+00:00", temperature: 4.9 }],
      },
    ],
  ],
]);

suite.rows("conditions", [
  [
    "GET /conditions?select=time,humidity,locations(location)&temperature=gt.20.9" +
    "&order=time.asc&limit=1",
    {},
    200,
    [{
      time: "2026-01-01T12:10:00+00:00",
      humidity: 43.1,
      locations: { location: "hill" },
    }],
  ],
  [
    "HEAD /conditions",
    { headers: { Prefer: "count=exact" } },
    206,
    undefined,
    { "Content-Range": "0-999/20160" },
  ],
  [
    "POST /conditions?select=device_id,temperature",
    {
      as: "weather_station",
      headers: { Prefer: "return=representation" },
      body: { time: "2026-01-15T00:00:00Z", device_id: "station-01", temperature: 4.62 },
    },
    201,
    [{ device_id: "station-01", temperature: 4.62 }],
  ],
  [
    "POST /conditions",
    { as: "weather_station", body: { time: "2026-01-15T00:00:00Z", device_id: "station-99" } },
    409,
    {
      code: "23503",
      details: 'Key (device_id)=(station-99) is not present in table "locations".',
      hint: null,
      message: 'insert or update on table "conditions" violates foreign key constraint ' +
        '"conditions_device_id_fkey"',
    },
  ],
  ["POST /conditions", { as: "weather_station", body: { device_id: "station-01" } }, 400, {
    code: "23502",
    details: "Failing row contains (null, station-01, null, null).",
    hint: null,
    message: 'null value in column "time" of relation "conditions" violates not-null constraint',
  }],
  ["DELETE /conditions", { as: "weather_station" }, 403, {
    code: "42501",
    details: null,
    hint: null,
    message: "permission denied for table conditions",
  }],
]);

suite.rows("current_conditions", [
  [
    "GET /current_conditions?select=device_id,temperature&order=temperature.desc,device_id&limit=2",
    { headers: { Accept: "text/csv" } },
    200,
    "device_id,temperature\nstation-02,19.3\nstation-04,19.2",
    { "Content-Type": "text/csv; charset=utf-8" },
  ],
]);

suite.rows("hourly", [
  ["GET /rpc/hourly?device=station-01&since=150minutes", {}, 200, [
    { hour: "2026-01-14T21:00:00+00:00", measurements: 3, temperature: 7.2, humidity: 72.6 },
    { hour: "2026-01-14T22:00:00+00:00", measurements: 6, temperature: 6.22, humidity: 74.82 },
    { hour: "2026-01-14T23:00:00+00:00", measurements: 6, temperature: 5.13, humidity: 77.48 },
  ]],
  [
    "POST /rpc/hourly?select=hour&order=hour.desc&limit=1",
    { body: { device: "station-07" } },
    200,
    [
      { hour: "2026-01-14T23:00:00+00:00" },
    ],
  ],
  ["GET /rpc/hourly?device=station-01&since=soon", {}, 400, {
    code: "22007",
    details: null,
    hint: null,
    message: 'invalid input syntax for type interval: "soon"',
  }],
]);
