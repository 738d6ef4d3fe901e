/// <reference lib="dom" />
/** Shows the error in a response. @module */
import { isJsonObject } from "../../../base/lib/json_object.ts";
import type { ApiError } from "./api.ts";
import type { ApiCall } from "./code.ts";
import { html, lazy, type View } from "./view.ts";

/** The button that explains a response, loaded with the first response that needs it. */
export const Why = lazy(async () => (await import("./why.ts")).Why as never);

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

/** Scrolls to an element once. Because the function is always the same, Preact calls it only when it
 * creates the element. */
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
