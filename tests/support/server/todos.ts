/** Services of the todo list of the examples. A start on PostgreSQL takes a fifth of the processor time
 * of one on an embedded database. @module */
import { engines } from "../database/engines.ts";
import { testSecret } from "../handler/token.ts";
import { type FileConfig, type ServiceProcess, startService } from "./process.ts";

const fixture = { name: "examples/todos/todos.sql", roles: ["web_anon", "todo_user"] };

/** A database with the todo list. Disposing of it removes it. */
export interface TodoDatabase extends AsyncDisposable {
  /** What services on it are configured with. */
  readonly config: FileConfig;
}

/** Makes a database with the todo list. */
export async function openTodos(): Promise<TodoDatabase> {
  const database = await engines.pg(fixture);
  const config = {
    "db-uri": database.uri,
    "db-schemas": "api",
    "db-anon-role": "web_anon",
  };
  return { config, [Symbol.asyncDispose]: () => database.remove() };
}

/** Starts a service with a database that is removed with it, and waits until it listens. */
export async function startTodos(config: FileConfig = {}): Promise<ServiceProcess> {
  await using resources = new AsyncDisposableStack();
  const todos = resources.use(await openTodos());
  const full = { ...todos.config, "jwt-secret": testSecret, ...config };
  const service = resources.use(await startService(full));
  await service.listening();
  const owned = resources.move();
  return { ...service, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
