/** The client of `examples/bookmarks`. */
import { deepStrictEqual } from "node:assert/strict";
import { bookmarkedFetch } from "../../examples/bookmarks/bookmarked_fetch.ts";

/** A client, the headers that it sent, and functions that answer its requests. */
function openClient() {
  const sent: (string | null)[] = [];
  const answers: ((bookmark: string | null) => void)[] = [];
  const send = bookmarkedFetch((request) => {
    sent.push(request.headers.get("Svc-Bookmark"));
    const { promise, resolve } = Promise.withResolvers<Response>();
    answers.push((bookmark) =>
      resolve(
        new Response(null, { headers: bookmark === null ? {} : { "Svc-Bookmark": bookmark } }),
      )
    );
    return promise;
  });
  return { sent, answers, ask: () => send(new Request("http://localhost/todos")) };
}

Deno.test("bookmarkedFetch() sends the bookmark of the last answer", async () => {
  const { sent, answers, ask } = openClient();
  for (const bookmark of [null, "1-1", null, "1-2", "1-2", "1-3"]) {
    const response = ask();
    answers.at(-1)!(bookmark);
    await response;
  }
  deepStrictEqual(sent, [null, null, "1-1", "1-1", "1-2", "1-2"]);
});

Deno.test("bookmarkedFetch() keeps the bookmarks of concurrent answers until one covers them", async () => {
  const { sent, answers, ask } = openClient();
  const first = [ask(), ask(), ask()];
  answers[1]!("1-7");
  answers[0]!("1-3");
  answers[2]!("1-7");
  await Promise.all(first);
  const next = ask();
  answers[3]!("1-8");
  await next;
  const last = ask();
  answers[4]!(null);
  await last;
  deepStrictEqual(sent, [null, null, null, "1-7, 1-3", "1-8"]);
});
