/// <reference lib="dom" />
/**
 * The control for a value of a type.
 *
 * @module
 */
import type { ConsoleColumn } from "../admin/console_data.ts";
import { typeKind } from "./filters.ts";
import { html, type View } from "./view.ts";

interface ValueInputProps {
  readonly column: Pick<ConsoleColumn, "baseType" | "enumLabels">;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly label?: string;
  readonly id?: string;
  readonly disabled?: boolean;
  readonly autofocus?: boolean;
  readonly placeholder?: string;
}

/** A select of labels, a text area for long texts, else an input. */
export function ValueInput(props: ValueInputProps): View {
  const { column, value, onValue, label, ...others } = props;
  const onInput = (event: Event) =>
    onValue((event.target as HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement).value);
  const kind = typeKind(column.baseType);
  const labels = kind === "boolean" ? ["true", "false"] : column.enumLabels;
  const attributes = { ...others, "aria-label": label };
  if (labels.length > 0) {
    return html`
      <select ...${attributes} onChange=${onInput}>
        ${(props.placeholder || !labels.includes(value)) && html`
          <option value="" selected=${value === ""} disabled=${!props
            .placeholder}>${props.placeholder || "Choose…"}</option>
        `}
        ${labels.map((each) =>
          html`<option key=${each} value=${each} selected=${each === value}>${each}</option>`
        )}
      </select>
    `;
  }
  if (kind === "json" || kind === "array" || value.length > 60 || value.includes("\n")) {
    return html`
      <textarea ...${attributes} rows="5" class="mono" spellcheck="false" value=${value}
        onInput=${onInput}></textarea>
    `;
  }
  return html`
    <input type="text" ...${attributes} value=${value} onInput=${onInput}
      inputmode=${kind === "number" ? "decimal" : null} autocomplete="off" />
  `;
}
