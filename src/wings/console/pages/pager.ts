/// <reference lib="dom" />
/** The footer of a grid: position, and links to other pages. @module */
import type { GridRow } from "./edit.ts";
import { defaultLimit, firstPage, parseQuery, type TableQuery } from "./filters.ts";
import { durationText, grouped, html, Icon, Select, type View } from "./view.ts";

/** Number of rows that match the filters. */
export interface RowCount {
  readonly total: number;
  /** False for the planner's estimate. */
  readonly isExact: boolean;
}

/** Queries of the previous and next page. Absent at the ends. */
export interface PageLinks {
  readonly prev?: string;
  readonly next?: string;
}

/** Returns the links in `Link` (RFC 8288), whose targets are relative references. */
export function linksOf(header: string | null): PageLinks {
  const matches = (header ?? "").matchAll(/<\?([^>]*)>; rel="(prev|next)"/g);
  return Object.fromEntries(Array.from(matches, ([, query, name]) => [name!, query!]));
}

/** Rows that the API has returned for a query. */
export interface LoadedRows {
  readonly rows: readonly GridRow[];
  readonly count: RowCount | null;
  readonly links: PageLinks;
  readonly ms: number;
}

interface PagerProps {
  readonly query: TableQuery;
  /** Null before the response, and after an error. */
  readonly loaded: LoadedRows | null;
  /** Number of rows before the page; null if unknown. */
  readonly start: number | null;
  /** Opens a page. `start` is the number of rows before it, if known. */
  readonly onQuery: (query: TableQuery, start?: number | null) => void;
  readonly onCount: () => void;
  /** Saves the rows that are shown. */
  readonly onSave: () => void;
}

const limits = [20, defaultLimit, 100, 500];

/** Position, count, and buttons for the previous and next rows. */
export function Pager({ query, loaded, start, onQuery, onCount, onSave }: PagerProps): View {
  const { count = null, links = {} } = loaded ?? {};
  const rows = loaded?.rows.length ?? 0;
  const { limit, offset } = query;
  const sizes = limits.includes(limit) ? limits : [...limits, limit].toSorted((a, b) => a - b);
  const step = (link: string | undefined, rowsOfStep: number) => {
    const to = start === null ? null : Math.max(0, start + rowsOfStep);
    if (link !== undefined) onQuery({ ...query, position: parseQuery(link).position }, to);
    else onQuery({ ...query, offset: Math.max(0, offset + rowsOfStep) });
  };
  const isByCursor = query.position !== null;
  const hasNext = isByCursor ? links.next !== undefined : rows >= limit ||
    (count?.isExact === true && offset + rows < count.total);
  const hasPrevious = isByCursor ? links.prev !== undefined : offset > 0;
  return html`
    <footer class="row bar pager">
      <p role="status">${positionText(rows, start, count)}${loaded !== null &&
        html`<span class="muted"> · ${durationText(loaded.ms)}</span>`}</p>
      ${count?.isExact !== true && html`
        <button type="button" onClick=${onCount}>Count exactly</button>
      `}
      <span class="spacer"></span>
      <button type="button" class="button is-quiet" onClick=${onSave}>CSV</button>
      <${Select} label="Rows per page" value=${String(limit)}
        options=${sizes.map((size) => [String(size), `${size} rows`])}
        onValue=${(size: string) => onQuery({ ...firstPage(query), limit: Number(size) })} />
      <button type="button" aria-label="Previous" disabled=${!hasPrevious}
        onClick=${() => step(links.prev, -limit)}><${Icon} name="previous" /></button>
      <button type="button" aria-label="Next" disabled=${!hasNext}
        onClick=${() => step(links.next, rows)}><${Icon} name="next" /></button>
    </footer>
  `;
}

function positionText(rows: number, start: number | null, count: RowCount | null): string {
  if (rows === 0) return "No rows";
  const position = start === null
    ? `${grouped(rows)} rows`
    : `Rows ${grouped(start + 1)} to ${grouped(start + rows)}`;
  if (count === null) return position;
  const least = count.isExact ? 0 : (start ?? 0) + rows;
  return `${position} of ${count.isExact ? "" : "about "}${grouped(Math.max(count.total, least))}`;
}
