/// <reference lib="dom" />
/** Entry point of the console: the frame of all pages, with navigation, search and identity. @module */
import "./theme.css";
import { signal } from "@preact/signals";
import { type FunctionComponent, render } from "preact";
import { useEffect } from "preact/hooks";
import { AdminTokenForm, Identity } from "./identity.ts";
import { usePolling } from "./loading.ts";
import { functionLinks, type PageLink, pageLinks, relationLinks } from "./links.ts";
import {
  access,
  connectionError,
  loadAccess,
  loadModel,
  needsAdminToken,
  refreshState,
  schema,
  schemaName,
  serviceState,
} from "./model.ts";
import { hrefOf, navigate, type PageRoute, route } from "./route.ts";
import { adminToken, token } from "./session.ts";
import { StartPage } from "./start_page.ts";
import { TablePage } from "./table_page.ts";
import { closeMenu, html, Icon, lazy, openMenu, Select, type View } from "./view.ts";

const menuOpen = signal(false);
const searchOpen = signal(false);

function Shell(): View {
  useEffect(() => void loadModel(), [adminToken.value]);
  const name = schemaName.value;
  useEffect(() => {
    if (serviceState.value !== null) void loadAccess(name);
  }, [name, token.value, serviceState.value === null]);
  usePolling(() => serviceState.value === null ? void 0 : void refreshState(), 15_000);
  useEffect(() => {
    menuOpen.value = false;
    const { page, name } = route.value;
    document.title = `${name || page} – ${serviceState.value?.name ?? "svc"} console`;
  }, [route.value]);
  if (needsAdminToken.value) return html`<${AdminTokenForm} />`;
  return html`
    <a class="skip" href="#main" onClick=${focusMain}>Skip to the content</a>
    <div class="shell">
      <${Sidebar} />
      ${menuOpen.value &&
        html`<div class="scrim" onClick=${() => menuOpen.value = false}></div>`}
      <div class="body">
        <${TopBar} />
        <main id="main" tabindex="-1">
          ${connectionError.value !== null && html`
            <p class="alert" role="alert">
              The service cannot be reached: ${connectionError.value}
              <button type="button" onClick=${() => loadModel()}>Retry</button>
            </p>
          `}
          ${schema.value === null ? html`<p class="loading">Loading…</p>` : html`<${Page} />`}
        </main>
      </div>
    </div>
    ${searchOpen.value && html`<${Search} onClose=${() => searchOpen.value = false} />`}
  `;
}

type PageComponent = FunctionComponent<Record<string, never>>;

/** Pages other than the table page, which are loaded when first opened. */
const pages: Readonly<Record<PageRoute["page"], PageComponent>> = {
  start: StartPage,
  table: TablePage,
  function: lazy(async () => (await import("./function_page.ts")).FunctionPage as PageComponent),
  reference: lazy(async () => (await import("./reference_page.ts")).ReferencePage as PageComponent),
  sql: lazy(async () => (await import("./sql_page.ts")).SqlPage as PageComponent),
  requests: lazy(async () => (await import("./requests_page.ts")).RequestsPage as PageComponent),
  diagram: lazy(async () => (await import("./diagram_page.ts")).DiagramPage as PageComponent),
  access: lazy(async () => (await import("./access_page.ts")).AccessPage as PageComponent),
  health: lazy(async () => (await import("./health_page.ts")).HealthPage as PageComponent),
};

const Search = lazy(async () => (await import("./search.ts")).Search as never);

function Page(): View {
  const { page, schema, name } = route.value;
  return html`<${pages[page]} key=${[page, schema, name].join()} />`;
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")!.focus();
}

/** Closes open menus when an event occurs outside of them. */
function closeMenus({ target }: Event): void {
  for (const menu of document.querySelectorAll<HTMLDetailsElement>(openMenu)) {
    if (!(target instanceof Node && menu.contains(target))) menu.open = false;
  }
}

/** Opens the search by a shortcut. Escape closes the focused menu, and focuses its button. */
function onKey(event: KeyboardEvent): void {
  const target = event.target instanceof Element ? event.target : null;
  if (event.key === "Escape") {
    menuOpen.value = false;
    closeMenu(target);
  }
  const isTyping = target?.closest("input, textarea, select, dialog");
  const isShortcut = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
  if (isShortcut || (event.key === "/" && !isTyping)) {
    event.preventDefault();
    searchOpen.value = true;
  }
}

function TopBar(): View {
  const schemas = serviceState.value?.api.schemas ?? [];
  return html`
    <header class="row line topbar">
      <button type="button" class="icon-button menu-button" aria-label="Menu"
        aria-expanded=${String(menuOpen.value)} onClick=${() => menuOpen.value = true}>
        <${Icon} name="menu" />
      </button>
      ${schemas.length > 1 && html`
        <label class="row muted"><span class="hide-narrow">Schema</span>
          <${Select} label="Schema" value=${schemaName.value} options=${schemas}
            onValue=${(schema: string) => navigate({ page: "start", schema })} />
        </label>
      `}
      <span class="spacer"></span>
      <${Status} />
      <${Identity} />
      <button type="button" class="icon-button" aria-label="Light or dark theme"
        onClick=${switchTheme}><${Icon} name="moon" /></button>
    </header>
  `;
}

function Status(): View {
  const state = serviceState.value;
  if (state === null) return null;
  const [level, text] = !state.database.ready
    ? ["bad", "Database unreachable"]
    : state.api.live
    ? ["good", "Live"]
    : ["warn", "Starting"];
  return html`
    <a class="button is-quiet" href=${hrefOf({ page: "health", schema: schemaName.value })}>
      <span class=${level} aria-hidden="true">●</span><span role="status">${text}</span>
    </a>
  `;
}

function Sidebar(): View {
  const name = schemaName.value;
  return html`
    <nav class=${`sidebar ${menuOpen.value ? "is-open" : ""}`} aria-label="Console">
      <a class="row brand" href=${hrefOf({ page: "start", schema: name })}>
        <svg width="26" viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="7" fill="#0b7a6d" />
          <path d="M8 10h16M8 16h16M8 22h10" stroke="#fff" stroke-width="3" />
        </svg>
        <strong>${serviceState.value?.name ?? "svc"}</strong>
        <small>${serviceState.value?.version ?? ""}</small>
      </a>
      <button type="button" class="muted" onClick=${() => searchOpen.value = true}>
        <${Icon} name="search" /><span>Search</span><span class="spacer"></span><kbd>Ctrl K</kbd>
      </button>
      <ul>
        ${pageLinks(name).map((link) => html`<${NavLink} key=${link.label} ...${link} />`)}
      </ul>
      ${navList("Tables", relationLinks(name))}
      ${navList("Functions", functionLinks(name))}
    </nav>
  `;
}

/** A list of links to pages; not shown if there are no links. */
function navList(title: string, links: readonly PageLink[]): View {
  return links.length > 0 && html`
    <h2 class="row between muted">${title} <span>${links.length}</span></h2>
    <ul>${links.map((link) => html`<${NavLink} key=${link.label} ...${link} />`)}</ul>
  `;
}

function NavLink({ icon, label, to, isDim = false }: PageLink): View {
  const current = route.value;
  const isCurrent = to.page === current.page && (to.name ?? current.name) === current.name;
  const hint = isDim && access.value !== null ? "The role has no access" : null;
  return html`
    <li><a href=${hrefOf(to)} class=${`row line nav-link ${isDim ? "muted" : ""}`} title=${hint}
      aria-current=${isCurrent ? "page" : null}>
      <${Icon} name=${icon} /><span>${label}</span>
      ${isDim && html`<span class="sr-only">(no access)</span>`}
    </a></li>
  `;
}

const themeKey = "svc-theme";
const { style } = document.documentElement;

/** Switches to the other theme, and stores the choice. The initial theme is the system's. */
function switchTheme(): void {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  style.colorScheme = (style.colorScheme || system) === "dark" ? "light" : "dark";
  localStorage.setItem(themeKey, style.colorScheme);
}

style.colorScheme = localStorage.getItem(themeKey) ?? "";
addEventListener("keydown", onKey);
addEventListener("pointerdown", closeMenus);
const root = document.getElementById("app")!;
root.textContent = "";
render(html`<${Shell} />` as never, root);
