/// <reference lib="dom" />
/**
 * Shows the exact request that a form sends.
 *
 * @module
 */
import { type ApiCall, targetOf } from "./code.ts";
import { html, type View } from "./view.ts";

/** Method, target, headers and body of a request. */
export function CallPreview({ call }: { readonly call: ApiCall }): View {
  const headers = call.headers.map(([name, value]) => `${name}: ${value}`);
  const lines = [`${call.method} ${decoded(targetOf(call))}`, ...headers];
  const body = call.body === null ? "" : `\n\n${pretty(call.body)}`;
  return html`
    <div class="preview">
      <span class="preview-label">Request</span>
      <pre tabindex="0" aria-label="Request">${lines.join("\n") + body}</pre>
    </div>
  `;
}

function decoded(target: string): string {
  try {
    return decodeURIComponent(target);
  } catch {
    return target;
  }
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
