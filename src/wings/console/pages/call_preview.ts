/** Shows a request before it is sent. @module */
import { percentDecode } from "../../../base/http/percent.ts";
import { prettyJson } from "../../../base/lib/json_text.ts";
import { type ApiCall, targetOf } from "./code.ts";
import { isJson } from "./edit.ts";
import { html, type View } from "./view.ts";

/** Maximum number of characters of a file that the preview shows. */
const maxShown = 2000;

/** Method, target, headers and body of a request. */
export function CallPreview({ call }: { readonly call: ApiCall }): View {
  const headers = call.headers.map(([name, value]) => `${name}: ${value}`);
  const lines = [`${call.method} ${percentDecode(targetOf(call), "replace")}`, ...headers];
  const { body } = call;
  if (body !== null) lines.push("", isJson(body) ? prettyJson(body) : body.slice(0, maxShown));
  if ((body?.length ?? 0) > maxShown) lines.push("…");
  return html`
    <div class="field">
      <span class="hint">Request</span>
      <pre tabindex="0" aria-label="Request">${lines.join("\n")}</pre>
    </div>
  `;
}
