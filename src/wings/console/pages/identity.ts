/// <reference lib="dom" />
/** The role of requests: the token, and the form for it. @module */
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { ConsoleRoles } from "../server/console_sign_in.ts";
import { readConsole } from "./api.ts";
import { isJson } from "./edit.ts";
import { useConsole } from "./loading.ts";
import { access, guarded, serviceState } from "./model.ts";
import { adminToken, claims, setAdminToken, signIn, signOut, token } from "./session.ts";
import {
  CopyButton,
  Dialog,
  durationText,
  html,
  Icon,
  Select,
  type SelectProps,
  type View,
  withText,
} from "./view.ts";

/** The button that shows the role. */
export function Identity(): View {
  const [isOpen, setOpen] = useState(false);
  const isRefused = access.value?.error != null;
  return html`
    <button type="button" class=${isRefused ? "bad" : ""}
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

/** Claims of tokens that the page creates, as JSON. */
const extraClaims = signal("{}");

/** Uses a token for a role; the empty name means anonymous. */
async function actAs(role: string): Promise<void> {
  if (role === "") return signIn("", { keeps: false });
  await guarded(async () => {
    const made = await readConsole<{ readonly token: string }>("token", {
      role,
      claims: JSON.parse(extraClaims.value),
    });
    signIn(made.token, { keeps: true });
  });
}

function RoleSelect({ value, ...props }: Omit<SelectProps, "options">): View {
  const names = useConsole<ConsoleRoles>("roles")?.roles ?? [];
  const options = [...new Set(["", ...names, value])].map((role) => [role, role || "anonymous"]);
  return html`<${Select} ...${{ ...props, value, options }} />`;
}

/** Shows the table as another role sees it, if this machine is trusted. */
export function ViewAs(): View {
  if (serviceState.value?.features.signIn !== true) return null;
  return html`
    <label class="row muted">View as
      <${RoleSelect} label="View as" value=${token.value === null ? "" : claims.value?.role ?? ""}
        onValue=${actAs} /></label>
  `;
}

/** Creates a token for a role with claims. */
function RoleForm({ onClose }: { readonly onClose: () => void }): View {
  const [role, setRole] = useState(claims.value?.role ?? "");
  const isValid = isJson(extraClaims.value);
  const submit = (event: Event) => {
    event.preventDefault();
    if (isValid) void actAs(role).then(onClose);
  };
  return html`
    <form class="stack" onSubmit=${submit}>
      <label class="field">Role <${RoleSelect} label="Role" value=${role} onValue=${setRole} /></label>
      <label class="field">Claims
        <textarea class="mono" rows="2" spellcheck="false" value=${extraClaims.value}
          aria-invalid=${isValid ? null : "true"} onInput=${withText((text) =>
            extraClaims.value = text
          )}></textarea></label>
      <p class="hint">Policies read claims, for example the user in <code>{"sub": "1"}</code>.</p>
      ${!isValid && html`<p class="bad" role="alert">Expected a JSON object</p>`}
      <div class="row actions"><button type="submit" class="button is-primary">Act as the role</button></div>
    </form>
  `;
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
    <${Dialog} title="Identity" onClose=${onClose}>
      ${serviceState.value?.features.signIn === true && html`<${RoleForm} ...${{ onClose }} />`}
      <form class="stack" onSubmit=${submit}>
        <p>Each request has the role of this token, or is anonymous without one. The token goes to
        the API alone.</p>
        ${error !== null && html`<p class="bad" role="alert">${error.message}</p>`}
        <label class="field">Token (JWT)
          <textarea rows="4" required spellcheck="false" autocomplete="off" class="mono" value=${text}
            placeholder=${token.value === null
              ? "eyJ…"
              : "A token is in use; enter another one"} onInput=${withText(setText)}></textarea>
        </label>
        <label class="row check"><input type="checkbox" checked=${keeps}
          onChange=${(event: Event) => setKeeps((event.target as HTMLInputElement).checked)} />
          Keep for this tab</label>
        <p class="hint"><code>svc token --role=web_user</code>${" "}prints one, with the secret of the
          configuration.${serviceState.value?.features.signIn !== true && html`
            On a trusted machine, <code>admin-sign-in</code>${" "}makes tokens here.
          `}</p>
        <div class="row actions">
          ${token.value !== null && html`
            <${CopyButton} label="Copy the token in use" text=${() => token.value!} />
          `}
          <button type="button" onClick=${leave}>Sign out</button>
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
      <form class="box card stack" onSubmit=${submit}>
        <h1>Console</h1>
        <p>This server protects its console. Enter the value of <code>admin-token</code>.</p>
        <label class="field">Admin token
          <input type="password" autocomplete="off" required value=${text} onInput=${withText(
            setText,
          )} />
        </label>
        ${adminToken.value !== null && html`<p class="bad" role="alert">The token is wrong, or too
          many wrong ones were sent.</p>`}
        <div class="row actions"><button type="submit" class="button is-primary">Open</button></div>
      </form>
    </main>
  `;
}
