/// <reference lib="dom" />
/** The request of a page: its editable URL, and code that sends it. @module */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { type ApiCall, codeOf, type Language, languages, sharedCall, targetOf } from "./code.ts";
import { serviceState } from "./model.ts";
import { token } from "./session.ts";
import { CopyButton, html, type View, withText } from "./view.ts";

const storageKey = "svc-code";

/** Window width in px from which the panel is initially open. */
const wideWindow = 1440;

export const codeShown = signal(
  (localStorage.getItem(storageKey) ?? (innerWidth >= wideWindow ? "shown" : "hidden")) === "shown",
);

/** Opens or closes the panel, and stores the choice. */
export function toggleCode(): void {
  codeShown.value = !codeShown.value;
  localStorage.setItem(storageKey, codeShown.value ? "shown" : "hidden");
}

const language = signal<Language>("curl");

interface CodePanelProps {
  readonly call: ApiCall;
  /** Applies an edited query string. Absent if the URL cannot be edited. */
  readonly onQuery?: (query: string) => void;
}

/** URL and code, which follow each change of the page. */
export function CodePanel({ call, onQuery }: CodePanelProps): View {
  const context = { url: serviceState.value?.api.url ?? "", hasToken: token.value !== null };
  const shared = sharedCall(call);
  const code = codeOf(shared, language.value, context);
  return html`
    <section class="stack code-panel" aria-label="Request">
      <${UrlEditor} ...${{ call, onQuery }} />
      <div class="row" role="group" aria-label="Language">
        ${languages.map((each) =>
          html`
            <button type="button" key=${each} aria-pressed=${String(language.value === each)}
              onClick=${() => language.value = each}>${each}</button>
          `
        )}
      </div>
      <pre tabindex="0" aria-label="Code">${code}</pre>
      <div class="row actions">
        <${CopyButton} text=${() => code} label="Copy code" />
        ${token.value !== null && html`
          <${CopyButton} label="Copy with token"
            text=${() => codeOf(shared, language.value, { ...context, token: token.value })} />
        `}
      </div>
    </section>
  `;
}

function UrlEditor({ call, onQuery }: Pick<CodePanelProps, "call" | "onQuery">): View {
  const target = targetOf(call);
  const [text, setText] = useState(target);
  useEffect(() => setText(target), [target]);
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim() === target) return;
    const [path, ...rest] = text.trim().split("?");
    if (path === `/${call.path}`) onQuery?.(rest.join("?"));
    else setText(target);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey) submit(event);
    if (event.key === "Escape") setText(target);
  };
  return html`
    <form onSubmit=${submit}>
      <label class="field"><span class="accent">${call.method}</span>
        <span class="sr-only">URL of the request</span>
        <textarea class="mono" rows="3" spellcheck="false" value=${text}
          readonly=${onQuery === undefined} onKeyDown=${onKeyDown} onBlur=${submit}
          onInput=${withText(setText)}></textarea>
      </label>
    </form>
  `;
}
