/** Follows the `Link` headers of pages. */
import type { Api } from "../handler/api.ts";

/** The targets of a `Link` header by their relation. */
export function linksOf(response: Response): ReadonlyMap<string, string> {
  const header = response.headers.get("Link") ?? "";
  const links = header.matchAll(/<([^>]*)>; rel="([a-z]+)"/g);
  return new Map(Array.from(links, ([, target, relation]) => [relation!, target!]));
}

/** A row of a page. */
export type PageRow = Readonly<Record<string, unknown>>;

/**
 * Requests a page, and those that one relation leads to from it, until there are no more. Calls `visit`
 * between them.
 */
export async function walk(
  api: Api,
  target: string,
  relation: "next" | "prev",
  visit: (page: number) => Promise<void> = () => Promise.resolve(),
): Promise<readonly (readonly PageRow[])[]> {
  const path = target.slice(0, target.indexOf("?"));
  const pages: PageRow[][] = [];
  let next: string | undefined = target;
  while (next !== undefined) {
    const response: Response = await api(`GET ${next}`);
    const text = await response.text();
    if (response.status >= 300) throw new Error(`${response.status} of ${next}: ${text}`);
    pages.push(JSON.parse(text));
    const query: string | undefined = linksOf(response).get(relation);
    next = query === undefined ? undefined : path + query;
    await visit(pages.length);
  }
  return pages;
}
