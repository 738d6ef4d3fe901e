/// <reference lib="dom" />
/**
 * The footer of a grid: which rows are shown, and the way to others.
 *
 * @module
 */
import { defaultLimit, type TableQuery } from "./filters.ts";
import { durationText, grouped, html, type View } from "./view.ts";

/** Number of rows that fit the filters. */
export interface RowCount {
  readonly total: number;
  /** False for the planner's estimate. */
  readonly isExact: boolean;
}

interface PagerProps {
  readonly query: TableQuery;
  /** Number of rows on the page. */
  readonly rows: number;
  readonly count: RowCount | null;
  /** Milliseconds of the request; null before it has ended. */
  readonly ms: number | null;
  readonly onQuery: (query: TableQuery) => void;
  /** Requests the exact count. */
  readonly onCount: () => void;
}

const limits = [20, defaultLimit, 100, 500];

/** Position, count, and buttons to the previous and next rows. */
export function Pager({ query, rows, count, ms, onQuery, onCount }: PagerProps): View {
  const { limit, offset } = query;
  const last = offset + rows;
  const hasNext = rows >= limit || (count?.isExact === true && last < count.total);
  const sizes = limits.includes(limit) ? limits : [...limits, limit].toSorted((a, b) => a - b);
  const go = (to: number) => onQuery({ ...query, offset: Math.max(0, to) });
  return html`
    <footer class="pager">
      <p role="status">${rows === 0
        ? "No rows"
        : `Rows ${grouped(offset + 1)} to ${grouped(last)}`}${count !== null && rows > 0 &&
        ` of ${count.isExact ? "" : "about "}${
          grouped(Math.max(count.total, count.isExact ? 0 : last))
        }`}${ms !== null && html`<span class="muted"> · ${durationText(ms)}</span>`}</p>
      ${count?.isExact !== true && html`
        <button type="button" class="small-button"
          onClick=${onCount}>Count exactly</button>
      `}
      <span class="spacer"></span>
      <label class="field-inline">Rows per page
        <select onChange=${(event: Event) =>
          onQuery({
            ...query,
            limit: Number((event.target as HTMLSelectElement).value),
            offset: 0,
          })}>
          ${sizes.map((size) =>
            html`<option key=${size} value=${size} selected=${size === limit}>${size}</option>`
          )}
        </select>
      </label>
      <button type="button" class="button" disabled=${offset === 0}
        onClick=${() => go(offset - limit)}>Previous</button>
      <button type="button" class="button" disabled=${!hasNext}
        onClick=${() => go(offset + limit)}>Next</button>
    </footer>
  `;
}
