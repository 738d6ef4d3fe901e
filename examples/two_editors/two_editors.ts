/**
 * Two editors change one todo at the same time, and neither change is lost:
 *
 *     deno run -A examples/two_editors/two_editors.ts http://localhost:3000 "$TOKEN"
 *
 * The service needs `etag-mode = "on"`. The todo with the id 1 must belong to the user of the token.
 *
 * @module
 */

/** A row of the table `todos`. */
export interface Todo {
  readonly id: number;
  readonly task: string;
  readonly done: boolean;
}

/** A client of the API. */
export interface Client {
  readonly url: string;
  readonly token: string;
  /** Default: the runtime's own. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/**
 * Changes a todo by what `edit` makes of it. If another editor was faster, `edit` gets the newer todo. Returns
 * how often that was so.
 */
export async function changeTodo(
  { url, token, fetch = globalThis.fetch }: Client,
  id: number,
  edit: (todo: Todo) => Partial<Todo>,
): Promise<number> {
  const row = `${url}/todos?id=eq.${id}`;
  for (let conflicts = 0;; conflicts++) {
    const read = await fetch(new Request(row));
    const [todo]: readonly Todo[] = await read.json();
    if (todo === undefined) throw new Error(`there is no todo ${id}`);
    const written = await fetch(
      new Request(row, {
        method: "PATCH",
        headers: {
          "Authorization": `Bearer ${token}`,
          "Content-Type": "application/json",
          "If-Match": read.headers.get("ETag") ?? "*",
        },
        body: JSON.stringify(edit(todo)),
      }),
    );
    if (written.ok) return conflicts;
    const { message } = await written.json();
    if (written.status !== 412) throw new Error(message);
  }
}

if (import.meta.main) {
  const [url = "http://localhost:3000", token = ""] = Deno.args;
  const conflicts = await Promise.all([
    changeTodo({ url, token }, 1, ({ task }) => ({ task: `${task}!` })),
    changeTodo({ url, token }, 1, ({ task }) => ({ task: `${task}?` })),
  ]);
  console.log(`Both changes are made; conflicts: ${conflicts.join(" and ")}`);
}
