/// <reference lib="dom" />
/** The button that explains a failed or empty response. @module */
import { useState } from "preact/hooks";
import { readConsole } from "./api.ts";
import { type ApiCall, targetOf } from "./code.ts";
import { guarded } from "./model.ts";
import { token } from "./session.ts";
import { CopyButton, html, type View } from "./view.ts";

/** Explains the response to a call. If the call is a write, it is not executed. */
export function Why({ call }: { readonly call: ApiCall }): View {
  const key = JSON.stringify([call, token.value]);
  const [shown, setShown] = useState<{ key: string; lines: readonly string[] } | null>(null);
  const [isBusy, setBusy] = useState(false);
  const explain = async () => {
    const { method, headers, body } = call;
    const authorization = token.value === null ? [] : [["Authorization", `Bearer ${token.value}`]];
    const sent = { method, target: targetOf(call), headers: [...headers, ...authorization], body };
    setBusy(true);
    await guarded(async () => setShown({ key, lines: await readConsole("why", sent) }));
    setBusy(false);
  };
  const lines = shown?.key === key ? shown.lines : null;
  const sql = lines?.filter((line) => /^ {4}grant /.test(line)).map((line) => line.trim()) ?? [];
  return html`
    <div class="stack">
      <div class="row">
        <button type="button" disabled=${isBusy} onClick=${explain}>Why?</button>
        ${sql.length > 0 && html`<${CopyButton} text=${() => sql.join("\n")} label="Copy SQL" />`}
      </div>
      ${lines !== null && html`
        <pre tabindex="0" aria-label="Explanation">${lines.join("\n")}</pre>
      `}
    </div>
  `;
}
