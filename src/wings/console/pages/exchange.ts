/// <reference lib="dom" />
/** Shows a request before it is sent, and the error in the response. @module */
import { percentDecode } from "../../../base/http/percent.ts";
import { prettyJson } from "../../../base/lib/json_text.ts";
import { isJsonObject } from "../../../base/lib/json_object.ts";
import type { ApiError } from "./api.ts";
import { type ApiCall, targetOf } from "./code.ts";
import { isJson } from "./edit.ts";
import { html, lazy, type View } from "./view.ts";

/** The button that explains a response, loaded with the first response that needs it. */
export const Why = lazy(async () => (await import("./why.ts")).Why as never);

/** Method, target, headers and body of a request. */
export function CallPreview({ call }: { readonly call: ApiCall }): View {
  const headers = call.headers.map(([name, value]) => `${name}: ${value}`);
  const lines = [`${call.method} ${percentDecode(targetOf(call), "replace")}`, ...headers];
  const { body } = call;
  if (body !== null) lines.push("", isJson(body) ? prettyJson(body) : body);
  return html`
    <div class="field">
      <span class="hint">Request</span>
      <pre tabindex="0" aria-label="Request">${lines.join("\n")}</pre>
    </div>
  `;
}

/** Message, details, hint and code of the error of a call. */
export function ErrorBox(
  { error, call }: { readonly error: ApiError; readonly call?: ApiCall },
): View {
  const { status, code, message, details, hint } = error;
  return html`
    <div class="alert" role="alert" ref=${scrollTo}>
      <p><strong>${message}</strong></p>
      ${details !== null && html`<p class="lines">${detailsText(details)}</p>`}
      ${hint !== null && html`<p>Hint: ${hint}</p>`}
      <p class="hint bad">${status}${code === null ? "" : ` · ${code}`}</p>
      ${call !== undefined && html`<${Why} call=${call} />`}
    </div>
  `;
}

/** Scrolls to an element once. As the function is always the same, it is called only when the
 * element is created. */
function scrollTo(element: Element | null): void {
  element?.scrollIntoView({ block: "center" });
}

/** Returns details as text; a list has a line for each entry. */
function detailsText(details: unknown): string {
  if (typeof details === "string") return details;
  if (!Array.isArray(details)) return JSON.stringify(details);
  const textOf = (entry: unknown) =>
    isJsonObject(entry) ? Object.values(entry).join(" · ") : String(entry);
  return details.map(textOf).join("\n");
}
