/// <reference lib="dom" />
/** A text field with a list of options (ARIA Authoring Practices, "Combobox"). @module */
import { useEffect, useState } from "preact/hooks";
import { html, type View } from "./view.ts";

interface ComboboxProps {
  readonly id: string;
  readonly label?: string;
  readonly text: string;
  readonly placeholder?: string;
  readonly options: readonly View[];
  /** Whether the list is shown without focus. Default: false. */
  readonly isAlwaysOpen?: boolean;
  readonly autofocus?: boolean;
  readonly onText: (text: string) => void;
  readonly onChoose: (index: number) => void;
  readonly onFocus?: () => void;
}

/** Arrow keys move in the list, Enter selects, and Escape closes it. */
export function Combobox(props: ComboboxProps): View {
  const { id, label, text, placeholder, options, isAlwaysOpen = false, onText, onChoose } = props;
  const [chosen, setChosen] = useState(0);
  const [hasFocus, setFocus] = useState(false);
  const isOpen = (isAlwaysOpen || hasFocus) && options.length > 0;
  useEffect(() => setChosen(0), [options.length, text]);
  const choose = (index: number) => {
    setFocus(false);
    onChoose(index);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setChosen((chosen + step + options.length) % Math.max(1, options.length));
    else if (event.key === "Enter" && isOpen) choose(chosen);
    else if (event.key === "Escape" && isOpen && !isAlwaysOpen) setFocus(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`
    <div class="combobox">
      <input type="text" role="combobox" ...${{ id, placeholder }} aria-label=${label}
        autocomplete="off" spellcheck="false" autofocus=${props.autofocus}
        aria-expanded=${String(isOpen)} aria-controls=${`${id}-list`}
        aria-activedescendant=${isOpen ? `${id}-${chosen}` : null} value=${text}
        onKeyDown=${onKeyDown} onBlur=${() => setFocus(false)}
        onFocus=${() => {
          setFocus(true);
          props.onFocus?.();
        }}
        onInput=${(event: Event) => {
          setFocus(true);
          onText((event.target as HTMLInputElement).value);
        }} />
      <ul id=${`${id}-list`} role="listbox" aria-label="Results" class="box" hidden=${!isOpen}>
        ${options.map((option, index) =>
          html`
            <li class="row" key=${index} id=${`${id}-${index}`} role="option"
              aria-selected=${String(index === chosen)}
              onPointerDown=${(event: Event) => event.preventDefault()}
              onClick=${() => choose(index)}>${option}</li>
          `
        )}
      </ul>
    </div>
  `;
}
