/// <reference lib="dom" />
/** Table requests that this browser has shown, and requests that the reader has pinned. @module */
import { percentDecode } from "../../../base/http/percent.ts";
import { signal } from "@preact/signals";
import { hrefOf, type PageRoute, routeOf } from "./route.ts";
import { html, Icon, type View } from "./view.ts";

const storageKey = "svc-recent";

/** Maximum number of listed requests that are not pinned. */
const maxRecent = 20;

/** A listed request, by the fragment of its page's URL. */
interface ListedAddress {
  readonly href: string;
  readonly isKept: boolean;
}

const recent = signal<readonly ListedAddress[]>(readRecent());

function readRecent(): readonly ListedAddress[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? "[]");
    return Array.isArray(stored) ? stored.filter(({ href }) => typeof href === "string") : [];
  } catch {
    return [];
  }
}

function store(next: readonly ListedAddress[]): void {
  recent.value = next;
  localStorage.setItem(storageKey, JSON.stringify(next));
}

/** Returns the list with a request added at its start. Removes the oldest requests that are not pinned. */
export function withRequest(
  list: readonly ListedAddress[],
  href: string,
): readonly ListedAddress[] {
  const isKept = list.some((each) => each.href === href && each.isKept);
  const others = list.filter((each) => each.href !== href);
  let left = maxRecent;
  return [{ href, isKept }, ...others].filter((each) => each.isKept || left-- > 0);
}

/** Adds a request to the stored list, by the address of its page. */
export function remember(href: string): void {
  store(withRequest(recent.value, href));
}

/** The list, with buttons that pin and remove a request; null if it is empty. */
export function RecentRequests({ schema }: { readonly schema: string }): View {
  const entries = recent.value.filter(({ href }) => routeOf(href).schema === schema)
    .toSorted((a, b) => Number(b.isKept) - Number(a.isKept));
  if (entries.length === 0) return null;
  const keep = (href: string, isKept: boolean) =>
    store(recent.value.map((each) => each.href === href ? { href, isKept: !isKept } : each));
  return html`
    <section class="stack" aria-labelledby="recent">
      <h2 id="recent">Recent requests</h2>
      <ul class="box recent">${entries.map(({ href, isKept }) => {
        const { name, view, query } = routeOf(href);
        const text = `/${name}?${percentDecode(query, "replace")}`;
        return html`
          <li class="row line" key=${href}>
            <a href=${href}><code>${text}</code>${view !== "rows" &&
              html`<small> ${view}</small>`}</a>
            <span class="spacer"></span>
            <button type="button" class="icon-button" aria-pressed=${String(isKept)}
              aria-label=${`Keep ${text}`} onClick=${() => keep(href, isKept)}>
              <${Icon} name="pin" /></button>
            <button type="button" class="icon-button" aria-label=${`Remove ${text}`}
              onClick=${() => store(recent.value.filter((each) => each.href !== href))}>
              <${Icon} name="close" /></button>
          </li>
        `;
      })}</ul>
    </section>
  `;
}

/** Returns the address of a table with its conditions; null if the query has no conditions, and for a plan. */
export function memorable(target: Omit<PageRoute, "page" | "query">, query: string): string | null {
  const parts = query.split("&").filter((part) =>
    !/^(?:limit|offset|after|before|order)=/.test(part)
  );
  return parts.join("") === "" || target.view === "plan" ? null : hrefOf({
    page: "table",
    ...target,
    query: query.replace(/(?:^|&)(?:after|before|offset)=[^&]*/g, ""),
  });
}
