/// <reference lib="dom" />
/** Building blocks of the console's pages. @module */
import { signal } from "@preact/signals";
import htm from "htm";
import { type ComponentChildren, type FunctionComponent, h } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export type View = ComponentChildren;

type Template = (strings: TemplateStringsArray, ...values: unknown[]) => View;

export const html: Template = (htm as unknown as { bind(make: typeof h): Template }).bind(h);

const paths = {
  table: "M3 5h18v14H3zM3 10h18M9 10v9",
  view: "M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12zM12 9a3 3 0 1 0 .01 0",
  function: "M9 20c3 0 2-16 6-16M7 11h8M17 13l4 6M21 13l-4 6",
  search: "M11 4a7 7 0 1 0 .01 0M16 16l5 5",
  diagram: "M4 4h6v5H4zM14 15h6v5h-6zM7 9v8h7",
  book: "M5 4h12a2 2 0 0 1 2 2v14H7a2 2 0 0 1-2-2zM5 17h14",
  pulse: "M2 12h5l3-8 4 16 3-8h5",
  heart: "M4 12h4l2-4 4 8 2-4h4M12 3a9 9 0 1 0 .01 0",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  previous: "M14 6l-6 6 6 6",
  next: "M10 6l6 6-6 6",
  edit: "M4 20l1-5L16 4l4 4L9 19zM14 6l4 4",
  filter: "M3 5h18l-7 8v6l-4-2v-4z",
  columns: "M4 5h16v14H4zM10 5v14M15 5v14",
  code: "M8 7l-5 5 5 5M16 7l5 5-5 5",
  refresh: "M20 11a8 8 0 1 0-2 6M20 4v7h-7",
  key: "M8 8a4 4 0 1 0 .01 0M11 15l9-9M16 10l3 3",
  moon: "M20 14A8 8 0 1 1 10 4a7 7 0 0 0 10 10z",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  link: "M7 17L17 7M9 7h8v8",
  chart: "M4 20V4M4 20h16M8 16v-4M12 16V8M16 16v-6",
  plan: "M9 4h6v4H9zM4 16h6v4H4zM14 16h6v4h-6zM12 8v4M7 16v-4h10v4",
  person: "M12 4a4 4 0 1 0 .01 0M4 21c0-5 4-7 8-7s8 2 8 7",
  menu: "M4 6h16M4 12h16M4 18h16",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  embed: "M4 5h16v5H4zM8 14h12v5H8zM4 10v6h4",
  pin: "M9 3h6l-1 7 4 4H6l4-4zM12 14v7",
  pause: "M8 5v14M16 5v14",
  play: "M7 5l12 7-12 7z",
} as const;

export type IconName = keyof typeof paths;

/** An icon next to a text, hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }): View {
  return html`
    <svg width="16" viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor"
      stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round">
      <path d=${paths[name]} />
    </svg>
  `;
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children?: View;
  /** Class in addition to `dialog`: `drawer` or `search`. */
  readonly kind?: string;
}

/** A modal dialog. It is open while it is rendered, and restores the focus when it closes. */
export function Dialog({ title, onClose, children, kind = "" }: DialogProps): View {
  const dialog = useRef<HTMLDialogElement>(null);
  const onClick = (event: MouseEvent) => {
    if (event.target !== dialog.current) return;
    const { left, right, top, bottom } = dialog.current!.getBoundingClientRect();
    const { clientX: x, clientY: y } = event;
    if (x < left || x > right || y < top || y > bottom) onClose();
  };
  useEffect(() => {
    const element = dialog.current!;
    const previous = document.activeElement;
    element.showModal();
    return () => {
      element.close();
      if (previous instanceof HTMLElement && previous.isConnected) previous.focus();
    };
  }, []);
  return html`
    <dialog ref=${dialog} class=${`dialog ${kind}`} aria-label=${title}
      onCancel=${(event: Event) => {
        event.preventDefault();
        onClose();
      }}
      onClick=${onClick}>
      <header class="row between">
        <h2>${title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick=${onClose}>
          <${Icon} name="close" />
        </button>
      </header>
      ${children}
    </dialog>
  `;
}

/** Returns a listener that calls `run` with the text of a control. */
export function withText(run: (text: string) => void): (event: Event) => void {
  return (event) => run((event.target as HTMLInputElement).value);
}

export interface SelectProps {
  readonly label: string;
  /** Pairs of a value and its text, or texts that are also the values. */
  readonly options: readonly (string | readonly [value: string, text: string])[];
  readonly value: string | null;
  readonly onValue: (value: string) => void;
}

export function Select({ label, options, value, onValue }: SelectProps): View {
  return html`
    <select aria-label=${label} onChange=${withText(onValue)}>
      ${options.map((each) => {
        const [key, text] = typeof each === "string" ? [each, each] : each;
        return html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`;
      })}
    </select>
  `;
}

interface DataTableProps {
  readonly label: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly View[])[];
  /** Indexes of number columns. Default: none. */
  readonly numbers?: readonly number[];
  /** Keys of rows whose positions may change. Default: their indexes. */
  readonly keys?: readonly (number | string)[];
}

/** A table in a frame that scrolls sideways. In narrow windows, rows of three or more columns become cards. */
export function DataTable({ label, head, rows, numbers = [], keys = [] }: DataTableProps): View {
  const kind = (index: number) => numbers.includes(index) ? "is-number" : "";
  return html`
    <div class="box table-wrap" tabindex="0" role="region" aria-label=${label}>
      <table aria-label=${label}>
        <thead>
          <tr>${head.map((text, index) =>
            html`<th key=${index} scope="col" class=${kind(index)}>${text}</th>`
          )}</tr>
        </thead>
        <tbody>${rows.map((row, number) =>
          html`
            <tr key=${keys[number] ?? number}>
              <th scope="row">${row[0]}</th>
              ${row.slice(1).map((cell, index) =>
                html`
                  <td key=${index} class=${kind(
                    index + 1,
                  )} data-label=${head[index + 1]}>${cell}</td>
                `
              )}
            </tr>
          `
        )}</tbody>
      </table>
    </div>
  `;
}

/** A line in place of an empty list. */
export function Empty(
  { title, children }: { readonly title: string; readonly children?: View },
): View {
  return html`<div class="empty muted"><h2>${title}</h2>${children}</div>`;
}

/** A page with a title, and a note in place of content. */
export function emptyPage(name: string, title: string, children: View = null): View {
  return html`
    <div class="page">
      <h1>${name}</h1>
      <${Empty} ...${{ title, children }} />
    </div>
  `;
}

/** A button that copies a text. Pages without TLS have no clipboard, so the button copies a
 * selected text area. If the browser refuses that, the area stays selected for the reader. */
export function CopyButton(
  { text, label = "Copy" }: { readonly text: () => string; readonly label?: string },
): View {
  const button = useRef<HTMLButtonElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copySelected = () => {
    const area = document.createElement("textarea");
    Object.assign(area, { value: text(), readOnly: true, ariaLabel: "Text to copy" });
    area.onblur = () => area.remove();
    button.current!.after(area);
    area.select();
    const isDone = document.execCommand("copy");
    if (isDone) button.current!.focus();
    return isDone;
  };
  const copy = async () => {
    const write = () => navigator.clipboard.writeText(text()).then(() => true);
    if (!await Promise.try(write).catch(copySelected)) return;
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return html`
    <button ref=${button} type="button" class=${isCopied ? "good" : ""} onClick=${copy}>
      <${Icon} name="copy" /><span>${isCopied ? "Copied" : label}</span>
    </button>
    <span class="sr-only" role="status">${isCopied && "Copied"}</span>
  `;
}

/** SQL that can be copied. */
export function SqlText({ sql }: { readonly sql: string }): View {
  return html`
    <pre tabindex="0" aria-label="SQL">${sql}</pre>
    <div class="row actions">
      <${CopyButton} label="Copy SQL" text=${() => sql} />
    </div>
  `;
}

/** Returns the time of day for milliseconds, with the date unless it is today. */
export function timeText(ms: number): string {
  const time = new Date(ms);
  const isToday = time.toDateString() === new Date().toDateString();
  return isToday ? time.toLocaleTimeString() : time.toLocaleString();
}

export const openMenu = "details.menu[open]";

/** Closes the menu that contains an element, and focuses its button. */
export function closeMenu(element: Element | null): void {
  const menu = element?.closest(openMenu);
  menu?.removeAttribute("open");
  menu?.querySelector("summary")?.focus();
}

/** Returns a component that is loaded when it is first shown. */
export function lazy<Props>(
  load: () => Promise<FunctionComponent<Props>>,
): FunctionComponent<Props> {
  const loaded = signal<FunctionComponent<Props> | null>(null);
  const text = signal("Loading…");
  return function Lazy(props: Props) {
    useEffect(() => {
      if (loaded.value !== null) return;
      load().then(
        (component) => loaded.value = component,
        () => text.value = "The page could not be loaded; reload the console.",
      );
    }, []);
    return (loaded.value === null
      ? html`<p class="loading" role="status">${text.value}</p>`
      : html`<${loaded.value} ...${props} />`) as never;
  };
}

export function saveFile(name: string, data: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Returns a number with separators between thousands. */
export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

/** Returns `12 ms`, `1.4 s` or `3 min`. */
export function durationText(ms: number): string {
  if (ms < 10) return `${Math.round(ms * 10) / 10} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Math.round(ms / 100) / 10} s`;
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${Math.round(ms / 3_600_000)} h`;
  return `${Math.round(ms / 86_400_000)} days`;
}

/** Returns `12 B`, `3.4 kB` or `5.6 MB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${Math.round(bytes / 100) / 10} kB`;
  return `${Math.round(bytes / 1e5) / 10} MB`;
}
