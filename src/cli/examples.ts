/**
 * The examples that `demo` serves. Their files have their home in the folder `examples`.
 *
 * @module
 */
import todosConfig from "../../examples/todos/svc.conf" with { type: "text" };
import todosSql from "../../examples/todos/todos.sql" with { type: "text" };
import weatherConfig from "../../examples/weather/svc.conf" with { type: "text" };
import weatherSql from "../../examples/weather/weather.sql" with { type: "text" };

/** A request to try. */
export interface TryRequest {
  readonly title: string;
  /** Path and query. */
  readonly path: string;
  /** JSON to send with POST and a token. Default: none, and the request is a GET without a token. */
  readonly body?: string;
}

/** An example: its configuration file, its SQL file and requests to it. */
export interface DemoExample {
  readonly config: string;
  readonly sql: { readonly name: string; readonly text: string };
  /** Claims of the token that writes. */
  readonly claims: Readonly<Record<string, string>>;
  readonly requests: readonly TryRequest[];
}

/** The examples by name; the first is the default. */
export const examples: ReadonlyMap<string, DemoExample> = new Map<string, DemoExample>([
  ["todos", {
    config: todosConfig,
    sql: { name: "todos.sql", text: todosSql },
    claims: { role: "todo_user", sub: "ada" },
    requests: [
      { title: "Read the list, without a token", path: "/todos?done=is.false&order=due.asc" },
      { title: "Write to it, as ada", path: "/todos", body: `{"task":"learn SQL"}` },
      { title: "Call the function", path: "/rpc/remaining?owner=ada" },
    ],
  }],
  ["weather", {
    config: weatherConfig,
    sql: { name: "weather.sql", text: weatherSql },
    claims: { role: "weather_station" },
    requests: [
      {
        title: "Read the newest measurement of each outdoor station",
        path: "/current_conditions?environment=eq.outside&order=temperature.desc",
      },
      {
        title: "Embed the stations in the warmest measurements",
        path: "/conditions?select=time,temperature,locations(location)" +
          "&order=temperature.desc&limit=3",
      },
      {
        title: "Call a function: averages by the hour",
        path: "/rpc/hourly?device=station-01&since=3hours",
      },
      {
        title: "Write a measurement, as a station",
        path: "/conditions",
        body: `{"time":"2026-01-15T00:00:00Z","device_id":"station-01","temperature":9.5}`,
      },
    ],
  }],
]);
