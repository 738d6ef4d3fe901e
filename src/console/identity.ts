/// <reference lib="dom" />
/**
 * The role of requests: the token, and the form that takes one.
 *
 * @module
 */
import { useState } from "preact/hooks";
import { access, serviceState } from "./model.ts";
import { adminToken, claims, setAdminToken, signIn, signOut, token } from "./session.ts";
import { Dialog, durationText, html, Icon, type View } from "./view.ts";

/** The button that names the role. */
export function Identity(): View {
  const [isOpen, setOpen] = useState(false);
  const isRefused = access.value?.error != null;
  return html`
    <button type="button" class=${`identity ${isRefused ? "is-refused" : ""}`}
      onClick=${() => setOpen(true)}>
      <${Icon} name=${token.value === null ? "person" : "key"} />
      <span>${identityText()}</span>
    </button>
    ${isOpen && html`<${TokenDialog} onClose=${() => setOpen(false)} />`}
  `;
}

/** Returns `anonymous: web_anon` or `web_user, ends in 12 min`. */
function identityText(): string {
  if (token.value === null) {
    const role = serviceState.value?.api.anonRole ?? null;
    return role === null ? "no token" : `anonymous: ${role}`;
  }
  if (claims.value === null) return "token";
  const { role, expires } = claims.value;
  const name = role ?? "token without role";
  if (expires === null) return name;
  const left = expires * 1000 - Date.now();
  return left <= 0 ? `${name}, expired` : `${name}, ends in ${durationText(left)}`;
}

function TokenDialog({ onClose }: { readonly onClose: () => void }): View {
  const [text, setText] = useState("");
  const [keeps, setKeeps] = useState(false);
  const error = access.value?.error ?? null;
  const submit = (event: Event) => {
    event.preventDefault();
    signIn(text, { keeps });
    onClose();
  };
  const leave = () => {
    signOut();
    onClose();
  };
  return html`
    <${Dialog} title="Identity" onClose=${onClose} kind="narrow">
      <form class="stack" onSubmit=${submit}>
        <p>Each request has the role of this token, or is anonymous without one. The token goes to
        the API alone.</p>
        ${error !== null && html`<p class="error" role="alert">${error.message}</p>`}
        <label class="field">Token (JWT)
          <textarea rows="4" required spellcheck="false" autocomplete="off" class="mono" value=${text}
            placeholder=${token.value === null ? "eyJ…" : "A token is in use; enter another one"}
            onInput=${(event: Event) =>
              setText((event.target as HTMLTextAreaElement).value)}></textarea>
        </label>
        <label class="check"><input type="checkbox" checked=${keeps}
          onChange=${(event: Event) => setKeeps((event.target as HTMLInputElement).checked)} />
          Keep for this tab</label>
        <p class="hint"><code>svc token --role=web_user</code>${" "}prints one, with the secret of the configuration.</p>
        <div class="actions">
          <button type="button" class="button" onClick=${leave}>Sign out</button>
          <button type="submit" class="button is-primary">Use the token</button>
        </div>
      </form>
      <//>
  `;
}

/** The form that asks for `admin-token`. */
export function AdminTokenForm(): View {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    setAdminToken(text.trim());
  };
  return html`
    <main class="sign-in">
      <form class="card stack" onSubmit=${submit}>
        <h1>Console</h1>
        <p>This server protects its console. Enter the value of <code>admin-token</code>.</p>
        <label class="field">Admin token
          <input type="password" autocomplete="off" required value=${text}
            onInput=${(event: Event) => setText((event.target as HTMLInputElement).value)} />
        </label>
        ${adminToken.value !== null && html`<p class="error" role="alert">The token is wrong, or too
          many wrong ones were sent.</p>`}
        <div class="actions"><button type="submit" class="button is-primary">Open</button></div>
      </form>
    </main>
  `;
}
