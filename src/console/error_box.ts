/// <reference lib="dom" />
/**
 * Shows an error of the API as the API words it.
 *
 * @module
 */
import { type ApiError, isRecord } from "./api.ts";
import { html, type View } from "./view.ts";

/** Message, details, hint and code of an error. */
export function ErrorBox({ error }: { readonly error: ApiError }): View {
  const { status, code, message, details, hint } = error;
  return html`
    <div class="error-box" role="alert">
      <p class="error-title">${message}</p>
      ${details !== null && html`<p class="error-details">${detailsText(details)}</p>`}
      ${hint !== null && html`<p class="hint-line">Hint: ${hint}</p>`}
      <p class="error-code">${status}${code === null ? "" : ` · ${code}`}</p>
    </div>
  `;
}

/** Returns a text; of a list, one line for each entry. */
function detailsText(details: unknown): string {
  if (typeof details === "string") return details;
  if (!Array.isArray(details)) return JSON.stringify(details);
  return details.map((entry) => isRecord(entry) ? Object.values(entry).join(" · ") : String(entry))
    .join("\n");
}
