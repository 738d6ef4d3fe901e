/// <reference lib="dom" />
/** The control for a value of a type. @module */
import { useEffect, useState } from "preact/hooks";
import { Combobox } from "./combobox.ts";
import { problemOf } from "./edit.ts";
import { type FilteredColumn, typeKind } from "./filters.ts";
import { findLabels, type LabelledKey, type Reference } from "./labels.ts";
import { guarded } from "./model.ts";
import { html, type View, withText } from "./view.ts";

interface ValueInputProps {
  readonly column: FilteredColumn;
  /** Rows to which the value refers, which the control searches by label. */
  readonly reference?: Reference | undefined;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly label?: string;
  readonly id?: string;
  readonly autofocus?: boolean;
  readonly placeholder?: string;
}

/** A list of labels, a text area for long texts, otherwise an input. */
export function ValueInput(props: ValueInputProps): View {
  const { column, reference, value, onValue, label, ...others } = props;
  if (reference !== undefined) return html`<${ReferenceInput} ...${props} />`;
  const onInput = withText(onValue);
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

/** Milliseconds after the last key until the control searches. */
const typingPauseMs = 200;

/** A key, with a list of referenced rows whose label contains the entered text. */
function ReferenceInput(props: ValueInputProps): View {
  const { column, value, onValue, label, id = "reference", ...others } = props;
  const reference = props.reference!;
  const [found, setFound] = useState<readonly LabelledKey[]>([]);
  const [isActive, setActive] = useState(false);
  const isKey = value !== "" && problemOf({ ...column, maxLength: null }, value) === null;
  useEffect(() => {
    if (!isActive && !isKey) return;
    const search = async () => setFound(await findLabels(reference, value, isKey));
    const timer = setTimeout(() => void guarded(search), typingPauseMs);
    return () => clearTimeout(timer);
  }, [value, isActive]);
  const current = found.find(([key]) => key === value)?.[1] ?? null;
  const options = found.map(([key, name]) => html`<span>${name}</span><small>${key}</small>`);
  return html`
    <${Combobox} ...${{ ...others, id, label, options }} text=${value}
      placeholder=${`${reference.label} or ${reference.key}${
        others.placeholder ? `, else ${others.placeholder}` : ""
      }`} onText=${onValue}
      onFocus=${() => setActive(true)} onChoose=${(index: number) => onValue(found[index]![0])} />
    ${current !== null && html`<span class="accent">${current}</span>`}
  `;
}
