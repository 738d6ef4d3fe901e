/// <reference lib="dom" />
/** The grid of rows, with keyboard navigation (ARIA Authoring Practices, "Grid"). @module */
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { ConsoleColumn, ConsoleRelation } from "../server/console_schema.ts";
import { cellText } from "./cells.ts";
import type { GridRow } from "./edit.ts";
import { type SortTerm, typeKind } from "./filters.ts";
import { foreignLinks, type Labels } from "./labels.ts";
import { relationshipsOf } from "./model.ts";
import { html, Icon, type View } from "./view.ts";

interface GridProps {
  readonly relation: ConsoleRelation | null;
  readonly rows: readonly GridRow[];
  readonly columns: readonly string[];
  readonly order: readonly SortTerm[];
  /** Number columns of the rows that are not columns of the relation. Default: none. */
  readonly numbers?: readonly string[];
  /** Labels of referenced rows. Default: none. */
  readonly labels?: Labels;
  readonly label: string;
  /** Sorts by a column; `adds` keeps the other columns. Absent if rows cannot be sorted. */
  readonly onSort?: (column: string, options: { readonly adds: boolean }) => void;
  /** Opens a row. Absent if rows have no panel. */
  readonly onOpen?: (row: GridRow) => void;
  /** Changes a value. Absent if the role may not. */
  readonly onEdit?: (row: GridRow, column: ConsoleColumn) => void;
}

/** A table of rows. Tab reaches one cell; the arrow keys move to other cells. */
export function Grid(props: GridProps): View {
  const { rows, columns, relation, label, order, labels, numbers, onOpen, onEdit } = props;
  const table = useRef<HTMLTableElement>(null);
  // If the rows stay the same, the drawing is reused. Its listeners read the latest properties here.
  const current = useRef(props);
  current.current = props;
  const [hasPanel, isReadonly] = [onOpen !== undefined, onEdit === undefined];
  const drawing = useMemo(() => {
    const gridColumns = columns.map((name, index): GridColumn => {
      const column = relation?.columns.find((each) => each.name === name) ?? null;
      const isNumber = column === null
        ? numbers?.includes(name)
        : typeKind(column.baseType) === "number";
      return { name, index, column, className: isNumber ? "is-number" : "" };
    });
    const relationships = relation === null ? [] : relationshipsOf(relation);
    return html`
      <thead role="rowgroup">
        <tr role="row">
          ${hasPanel &&
            html`<th role="columnheader" class="row-head"><span class="sr-only">Row</span></th>`}
          ${gridColumns.map((column) => headerCell(current, column))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map((row, number) => {
          const links = foreignLinks(relationships, row);
          return html`
            <tr key=${number} role="row">
              ${hasPanel && rowHead(current, row, number)}
              ${gridColumns.map((column) => gridCell(current, column, { row, number, links }))}
            </tr>
          `;
        })}
      </tbody>
    `;
  }, [rows, columns, relation, order, labels, hasPanel, isReadonly]);
  useEffect(() => {
    const cells = table.current!;
    const first = cells.querySelector("tbody [data-place]") ?? cells.querySelector("[data-place]");
    if (cells.querySelector('[tabindex="0"]') === null && first !== null) {
      stopOf(first).tabIndex = 0;
    }
  }, [drawing]);
  return html`
    <div class="scroll">
      <table ref=${table} class="grid" role="grid" aria-label=${label} onKeyDown=${moveFocus}
        onFocusIn=${keepFocus} aria-rowcount=${rows.length + 1}
        aria-readonly=${String(isReadonly)}>${drawing}</table>
    </div>
  `;
}

/** Returns the element of a cell that gets the focus. */
function stopOf(cell: Element): HTMLElement {
  return cell.querySelector<HTMLElement>(".row-button, .sort-button") ?? cell as HTMLElement;
}

/** Makes the focused cell the one that Tab reaches. */
function keepFocus({ currentTarget, target }: FocusEvent): void {
  const cell = (target as Element).closest("[data-place]");
  if (cell === null) return;
  (currentTarget as Element).querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
  stopOf(cell).tabIndex = 0;
}

function moveFocus(event: KeyboardEvent): void {
  const table = event.currentTarget as HTMLTableElement;
  const place = (event.target as Element).closest<HTMLElement>("[data-place]")?.dataset.place;
  if (place === undefined) return;
  const [row = 0, column = 0] = place.split(",").map(Number);
  const move = movesOf(row, event)[event.key];
  if (move === undefined) return;
  event.preventDefault();
  const bounded = (value: number, [least, most]: readonly [number, number]) =>
    Math.max(least, Math.min(most, value));
  // The header is row -1, the buttons of rows are column -1.
  const nextRow = bounded(row + move[0], [-1, table.tBodies[0]!.rows.length - 1]);
  const first = nextRow === -1 || table.querySelector(".row-button") === null ? 0 : -1;
  const last = table.tHead!.querySelectorAll("[data-place]").length - 1;
  const nextColumn = bounded(column + move[1], [first, last]);
  const cell = table.querySelector(`[data-place="${nextRow},${nextColumn}"]`);
  if (cell !== null) stopOf(cell).focus();
}

/** Returns the numbers of rows and columns to move for each key. */
function movesOf(
  row: number,
  { ctrlKey }: KeyboardEvent,
): Readonly<Record<string, readonly [rows: number, columns: number]>> {
  return {
    ArrowDown: [1, 0],
    ArrowUp: [-1, 0],
    ArrowRight: [0, 1],
    ArrowLeft: [0, -1],
    PageDown: [10, 0],
    PageUp: [Math.max(-row, -10), 0],
    Home: [ctrlKey ? -Infinity : 0, -Infinity],
    End: [ctrlKey ? Infinity : 0, Infinity],
  };
}

/** The properties of the most recent rendering. */
type CurrentProps = { readonly current: GridProps };

interface GridColumn {
  readonly name: string;
  readonly index: number;
  /** Null for a column that the relation does not have. */
  readonly column: ConsoleColumn | null;
  readonly className: string;
}

function headerCell(props: CurrentProps, { name, index, column, className }: GridColumn): View {
  const { relation, order, onSort } = props.current;
  const place = order.findIndex((term) => term.column === name);
  const term = order[place];
  const sort = term === undefined ? "none" : term.descending ? "descending" : "ascending";
  const isKey = relation?.primaryKey.includes(name) ?? false;
  const about = [column?.comment, column?.default && `Default: ${column.default}`]
    .filter((text) => text).join("\n");
  const content = html`
    <span class="row line">${isKey && html`<${Icon} name="key" />`}${name}${term !== undefined &&
      html`<span class="accent" aria-hidden="true">${term.descending ? "↓" : "↑"}${
        order.length > 1 ? place + 1 : ""
      }</span>`}</span>
    <small>${column === null ? "" : shortType(column)}</small>
  `;
  const choose = (event: MouseEvent) => props.current.onSort?.(name, { adds: event.shiftKey });
  return html`
    <th key=${name} role="columnheader" aria-sort=${sort} data-place=${`-1,${index}`}
      title=${about || null}
      class=${className}>
      ${onSort !== undefined && column !== null
        ? html`<button type="button" class="sort-button" tabindex="-1" onClick=${choose}>${content}</button>`
        : html`<span class="sort-button" tabindex="-1">${content}</span>`}
    </th>
  `;
}

function shortType({ type }: ConsoleColumn): string {
  return type.replace("character varying", "varchar")
    .replace("timestamp with time zone", "timestamptz")
    .replace("timestamp without time zone", "timestamp");
}

/** The button that opens a row. */
function rowHead(props: CurrentProps, row: GridRow, number: number): View {
  return html`
    <td role="gridcell" class="row-head" data-label="Row" data-place=${`${number},-1`}>
      <button type="button" class="row-button" aria-label=${`Open row ${number + 1}`}
        tabindex="-1" onClick=${() => props.current.onOpen?.(row)}>${number + 1}</button></td>
  `;
}

interface RowParts {
  readonly row: GridRow;
  readonly number: number;
  readonly links: ReturnType<typeof foreignLinks>;
}

function gridCell(
  props: CurrentProps,
  { name, index, column, className }: GridColumn,
  { row, number, links }: RowParts,
): View {
  const [value, link] = [row[name], links.get(name)];
  const { labels, onEdit } = props.current;
  const linkLabel = labels?.get(name)?.get(String(value));
  const isEditable = onEdit !== undefined && column?.generated === false;
  const ofValue = value === null ? "muted" : typeof value === "object" ? "mono" : "";
  const activate = () => {
    if (isEditable) props.current.onEdit?.(row, column);
    else props.current.onOpen?.(row);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || !/^(?:Enter|F2)$/.test(event.key)) return;
    event.preventDefault();
    activate();
  };
  return html`
    <td key=${name} role="gridcell" data-place=${`${number},${index}`} data-label=${name}
      class=${`${ofValue} ${className}`} tabindex="-1" aria-readonly=${isEditable ? null : "true"}
      onDblClick=${activate}
      onKeyDown=${onKeyDown}><span class="cell-text">${cellText(
        value,
        column?.baseType,
      )}</span>${link !== undefined && html`
        <a class="cell-link" href=${link.href} tabindex="-1" aria-label=${[
          `Open ${link.name} ${cellText(value)}`,
          linkLabel,
        ].filter((text) => text).join(": ")}>${linkLabel ?? html`<${Icon} name="link" />`}</a>
      `}${isEditable && html`
        <button type="button" class="icon-button pencil" tabindex="-1"
          aria-label=${`Change ${name}`} onClick=${activate}><${Icon} name="edit" /></button>
      `}</td>
  `;
}
